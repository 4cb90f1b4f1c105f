"""einops: attention of several heads written with rearrange, reduce and repeat, and its gradient."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from einops import einsum, pack, rearrange, reduce, repeat, unpack


def attention(x, weights):
    q, k, v = rearrange(x @ weights, "b n (three h d) -> three b h n d", three=3, h=2)
    scores = einsum(q, k, "b h i d, b h j d -> b h i j")
    mixed = einsum(jax.nn.softmax(scores), v, "b h i j, b h j d -> b h i d")
    return reduce(rearrange(mixed, "b h n d -> b n (h d)"), "b n c -> b c", "mean")


rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(2, 5, 4)), jnp.float32)
weights = jnp.asarray(rng.normal(size=(4, 12)), jnp.float32)
loss = jax.jit(jax.value_and_grad(lambda w: jnp.sum(attention(x, w) ** 2)))
value, gradient = loss(weights)
packed, shapes = pack([x[0], x[1]], "* c")
np.savez(
    sys.argv[1],
    value=value,
    gradient=gradient,
    packed=packed,
    unpacked=unpack(packed, shapes, "* c")[1],
    repeated=repeat(x, "b n c -> b (n two) c", two=2),
)
