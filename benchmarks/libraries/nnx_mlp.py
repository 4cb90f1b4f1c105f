"""flax.nnx and optax: a step of Adam for an MLP, batches of 64."""

import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks.libraries.timing import report

rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(64, 10)), jnp.float32)
y = jnp.asarray(rng.normal(size=(64, 1)), jnp.float32)


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(10, 64, rngs=rngs)
        self.second = nnx.Linear(64, 64, rngs=rngs)
        self.last = nnx.Linear(64, 1, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.first(x))
        x = nnx.relu(self.second(x))
        return self.last(x)


model = MLP(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    value, gradient = nnx.value_and_grad(lambda model: jnp.mean((model(x) - y) ** 2))(model)
    optimizer.update(model, gradient)
    return value


report(lambda: step(model, optimizer, x, y))
