"""distrax: distributions, bijectors, a normalizing flow trained by maximum likelihood, an HMM."""

import sys

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
data = jnp.asarray(rng.normal(size=(32, 2)) @ [[1.0, 0.3], [0.0, 0.5]] + 1, jnp.float32)


def flow(params):
    def conditioner(x):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        return hidden @ params["w2"]

    def bijector(p):
        return distrax.ScalarAffine(shift=p[..., :2], log_scale=jnp.tanh(p[..., 2:]))

    layers = [
        distrax.MaskedCoupling(mask=jnp.array(mask), conditioner=conditioner, bijector=bijector)
        for mask in ([True, False], [False, True])
    ]
    base = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
    return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers)))


params = {
    "w1": jnp.asarray(rng.normal(size=(2, 8)), jnp.float32),
    "b1": jnp.zeros(8),
    "w2": jnp.asarray(0.1 * rng.normal(size=(8, 4)), jnp.float32),
}
optimizer = optax.adam(0.02)


@jax.jit
def step(params, state):
    loss, grads = jax.value_and_grad(lambda p: -flow(p).log_prob(data).mean())(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


losses, state = [], optimizer.init(params)
for _ in range(10):
    params, state, loss = step(params, state)
    losses.append(loss)

hmm = distrax.HMM(
    distrax.Categorical(probs=jnp.array([0.6, 0.4])),
    distrax.Categorical(probs=jnp.array([[0.8, 0.2], [0.3, 0.7]])),
    distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.5, 0.8])),
)
observed = jnp.array([-0.9, -1.2, 0.3, 1.4, 0.9])
alphas, betas, marginals, log_prob = hmm.forward_backward(observed)
laplace = distrax.Laplace(0.0, 1.0)
samples, density = laplace.sample_and_log_prob(seed=jax.random.key(0), sample_shape=(4,))
lam = distrax.Lambda(lambda x: jnp.sinh(x))  # its inverse is found from its jaxpr
np.savez(
    sys.argv[1],
    losses=np.stack(losses),
    flow_samples=flow(params).sample(seed=jax.random.key(1), sample_shape=(3,)),
    smoothed=marginals,
    likelihood=log_prob,
    path=hmm.viterbi(observed),
    samples=samples,
    density=density,
    divergence=distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(0.5, 2.0)),
    inverse=lam.inverse(jnp.array([0.5, 2.0])),
    spline=distrax.RationalQuadraticSpline(jnp.linspace(-1, 1, 13), -3.0, 3.0).forward(
        jnp.linspace(-2.0, 2.0, 5)
    ),
)
