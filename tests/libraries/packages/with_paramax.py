"""paramax: parameters that are constrained by functions of others, trained with equinox."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax

scale = paramax.Parameterize(jnp.exp, jnp.log(jnp.ones(3)))
weights = paramax.WeightNormalization(jax.random.normal(jax.random.key(0), (4, 3)))
model = {"scale": scale, "weights": weights, "fixed": paramax.NonTrainable(jnp.arange(3.0))}


@eqx.filter_value_and_grad
def loss(model, x):
    model = paramax.unwrap(model)
    return jnp.sum((model["weights"] @ (x * model["scale"] + model["fixed"]) - 1) ** 2)


x = jnp.array([0.5, -1.0, 2.0])
losses = []
for _ in range(10):
    value, slope = loss(model, x)
    model = eqx.apply_updates(model, jax.tree.map(lambda s: -0.01 * s, slope))
    losses.append(value)
trained = paramax.unwrap(model)

np.savez(sys.argv[1], losses=np.array(losses), **trained)
