"""quax: an array type of one's own, which functions of JAX take after `quaxify`."""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import quax
from quax.examples import lora


class Scaled(quax.ArrayValue):
    """Multiples of an array, which products leave unmultiplied."""

    array: jax.Array
    scale: jax.Array

    def aval(self):
        return jax.core.ShapedArray(self.array.shape, self.array.dtype)

    def materialise(self):
        return self.array * self.scale


@quax.register(jax.lax.mul_p)
def _(x: Scaled, y: Scaled, **_):
    return Scaled(x.array * y.array, x.scale * y.scale)


key = jax.random.key(0)
x = Scaled(jnp.arange(4.0), jnp.float32(3.0))
product = quax.quaxify(jnp.multiply)(x, x)
layer = eqx.nn.Linear(10, 12, key=key)
lora_layer = lora.loraify(layer, rank=2, key=key)
v = jax.random.normal(key, (10,))


@jax.jit
def loss(layer, v):
    return jnp.sum(quax.quaxify(layer)(v) ** 2)


np.savez(
    sys.argv[1],
    scale=product.scale,
    product=product.materialise(),
    sine=quax.quaxify(jax.jit(jnp.sin))(x),
    loss=loss(lora_layer, v),
    slope=jax.grad(lambda v: loss(lora_layer, v))(v),
)
