"""equinox and optax: a step of Adam for an MLP, batches of 64."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.libraries.timing import report

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(64, 10)), jnp.float32)
y = jnp.asarray(rng.normal(size=(64, 1)), jnp.float32)
model = eqx.nn.MLP(10, 1, 64, 2, key=jax.random.key(0))
optimizer = optax.adam(1e-3)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_value_and_grad
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


@eqx.filter_jit
def step(model, state, x, y):
    value, gradient = loss(model, x, y)
    updates, state = optimizer.update(gradient, state, model)
    return eqx.apply_updates(model, updates), state, value


def call():
    global model, state
    model, state, value = step(model, state, x, y)
    return value


report(call)
