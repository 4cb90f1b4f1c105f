"""distreqx: distributions and bijectors as equinox modules, one of them trained."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from distreqx import bijectors, distributions

rng = np.random.default_rng(0)
data = jnp.asarray(1 / (1 + np.exp(-0.3 * rng.normal(size=64) - 1.0)), jnp.float32)


class Model(eqx.Module):
    loc: jax.Array
    log_scale: jax.Array

    def __call__(self):
        base = distributions.Normal(self.loc, jnp.exp(self.log_scale))
        return distributions.Transformed(base, bijectors.Sigmoid())


@eqx.filter_value_and_grad
def loss(model, x):
    return -jax.vmap(model().log_prob)(x).mean()


model = Model(jnp.float32(0.0), jnp.float32(0.0))
optimizer = optax.adam(0.1)
state = optimizer.init(eqx.filter(model, eqx.is_array))
losses = []


@eqx.filter_jit
def step(model, state):
    value, gradient = loss(model, data)
    updates, state = optimizer.update(gradient, state)
    return eqx.apply_updates(model, updates), state, value


for _ in range(30):
    model, state, value = step(model, state)
    losses.append(value)

normal = distributions.MultivariateNormalTri(jnp.zeros(2), jnp.array([[1.0, 0.0], [0.5, 2.0]]))
mixture = distributions.MixtureSameFamily(
    distributions.Categorical(logits=jnp.array([0.1, 0.9])),
    eqx.filter_vmap(distributions.Normal)(jnp.array([0.0, 2.0]), jnp.ones(2)),
)
x = jnp.array([0.3, -0.7])
y, log_det = bijectors.Tanh().forward_and_log_det(x)
first, second = distributions.Normal(0.0, 1.0), distributions.Normal(0.5, 2.0)
np.savez(
    sys.argv[1],
    losses=np.array(losses),
    fitted=np.array([model.loc, jnp.exp(model.log_scale)]),
    samples=jax.vmap(model().sample)(jax.random.split(jax.random.key(0), 4)),
    normal=normal.log_prob(x),
    entropy=normal.entropy(),
    mixture=mixture.log_prob(0.5),
    mean=mixture.mean(),
    categorical=distributions.Categorical(logits=jnp.array([0.1, 0.9, -1.0])).prob(1),
    tanh=y,
    log_det=log_det,
    divergence=first.kl_divergence(second),
)
