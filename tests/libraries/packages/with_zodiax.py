"""zodiax: models addressed by the paths of their leaves, differentiated and fitted."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import zodiax as zdx


class Bell(zdx.Base):
    mean: jax.Array
    width: jax.Array
    scale: jax.Array

    def __init__(self, mean, width, scale):
        self.mean, self.width, self.scale = map(jnp.asarray, (mean, width, scale))

    def model(self, x):
        return self.scale * jnp.exp(-(((x - self.mean) / self.width) ** 2))


x = jnp.linspace(-2, 2, 30)
data = Bell(0.3, 0.8, 2.0).model(x)
bell = Bell(0.0, 1.0, 1.0).set("scale", jnp.float32(1.5)).multiply("width", 1.1)


@eqx.filter_jit
def loss(model):
    return jnp.mean((model.model(x) - data) ** 2)


value, slope = eqx.filter_value_and_grad(loss)(bell)
np.savez(sys.argv[1], value=value, mean=slope.mean, width=slope.width, scale=bell.scale)
