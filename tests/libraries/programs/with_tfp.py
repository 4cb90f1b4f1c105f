"""TensorFlow Probability on JAX: distributions, bijectors, NUTS, a fit of a Gaussian process."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from tensorflow_probability.substrates import jax as tfp

tfd, tfb, tfk = tfp.distributions, tfp.bijectors, tfp.math.psd_kernels
rng = np.random.default_rng(0)

mixture = tfd.MixtureSameFamily(
    tfd.Categorical(probs=jnp.array([0.3, 0.7])),
    tfd.MultivariateNormalTriL(
        loc=jnp.array([[0.0, 1.0], [2.0, -1.0]]), scale_tril=jnp.array([[1.0, 0.0], [0.5, 0.8]])
    ),
)
points = mixture.sample(5, seed=jax.random.key(0))
positive = tfd.TransformedDistribution(tfd.Gamma(2.0, 3.0), tfb.Chain([tfb.Shift(1.0), tfb.Exp()]))

xs = jnp.asarray(np.sort(rng.uniform(-2, 2, size=(12, 1))), jnp.float32)
ys = jnp.sin(3 * xs[:, 0])


@jax.jit
def fit(params):
    optimizer = optax.adam(0.05)

    def loss(params):
        amplitude, length = (tfb.Softplus().forward(p) for p in params)
        kernel = tfk.ExponentiatedQuadratic(amplitude, length)
        process = tfd.GaussianProcess(kernel, xs, observation_noise_variance=0.1)
        return -process.log_prob(ys)

    def step(carry, _):
        params, state = carry
        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state)
        return (optax.apply_updates(params, updates), state), value

    (params, _), losses = jax.lax.scan(step, (params, optimizer.init(params)), length=20)
    return jnp.stack(params), losses


@jax.jit
def chain(key):
    kernel = tfp.mcmc.HamiltonianMonteCarlo(
        lambda x: tfd.Normal(1.0, 2.0).log_prob(x), step_size=0.5, num_leapfrog_steps=3
    )
    return tfp.mcmc.sample_chain(
        20, current_state=jnp.zeros(4), kernel=kernel, num_burnin_steps=5, seed=key, trace_fn=None
    )


params, losses = fit((jnp.array(1.0), jnp.array(1.0)))
variable = tfp.util.TransformedVariable(2.0, tfb.Softplus())
np.savez(
    sys.argv[1],
    points=points,
    density=mixture.log_prob(points),
    score=jax.vmap(jax.grad(mixture.log_prob))(points),
    transformed=positive.log_prob(jnp.array([2.5, 4.0])),
    divergence=tfd.kl_divergence(tfd.Normal(0.0, 1.0), tfd.Normal(1.0, 2.0)),
    params=params,
    losses=losses,
    chain=chain(jax.random.key(1)),
    quadrature=tfp.math.ode.DormandPrince().solve(
        lambda t, y: -y, 0.0, jnp.array([1.0, 2.0]), solution_times=[0.5, 1.0]
    ).states,
    variable=variable * jnp.array([2.0, 3.0]),
)  # fmt: skip
