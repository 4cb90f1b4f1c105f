"""DrJAX: steps of federated learning, as programs of broadcasts, maps and reductions."""

import sys

import drjax
import jax
import jax.numpy as jnp
import numpy as np


@drjax.program(placements={"clients": 4})
def federated_step(model, data):
    def of_one(model, batch):
        x, y = batch
        slope = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(model)
        return model - 0.1 * slope

    models = drjax.map_fn(of_one, (drjax.broadcast(model), data))
    return drjax.reduce_mean(models), drjax.reduce_sum(jnp.sum(models, axis=1))


x = jax.random.normal(jax.random.key(0), (4, 8, 3))
y = x @ jnp.array([1.0, -2.0, 0.5])
model = jnp.zeros(3)
step = jax.jit(federated_step)
for _ in range(10):
    model, total = step(model, (x, y))
slope = jax.grad(lambda m: jnp.sum(federated_step(m, (x, y))[0] ** 2))(model)
primitives = [str(e.primitive) for e in jax.make_jaxpr(federated_step)(model, (x, y)).eqns]

np.savez(
    sys.argv[1], model=model, total=total, slope=slope, means="mean_from_clients" in primitives
)
