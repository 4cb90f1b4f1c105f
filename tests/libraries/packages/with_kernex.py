"""kernex: functions mapped and scanned over windows of arrays."""

import sys

import jax
import jax.numpy as jnp
import kernex as kex
import numpy as np


@kex.kmap(kernel_size=(3,))
def mapped(x):
    return jnp.sum(x)


@kex.kscan(kernel_size=(3,))
def scanned(x):
    return jnp.sum(x)


@kex.kmap(kernel_size=(3, 3), padding="valid", relative=True)
def laplacian(x):
    return x[1, 0] + x[0, -1] - 4 * x[0, 0] + x[0, 1] + x[-1, 0]


@jax.jit
@kex.kmap(kernel_size=(3, 3, 3), padding=("valid", "same", "same"))
def convolved(x, w):
    return jnp.sum(x * w)


x = jnp.array([1, 2, 3, 4, 5])
image = jax.random.normal(jax.random.key(0), (10, 10))
volume, weights = jax.random.normal(jax.random.key(1), (2, 3, 6, 6))
slope = jax.grad(lambda w: jnp.sum(convolved(volume, w) ** 2))(weights[:, :3, :3])

np.savez(
    sys.argv[1],
    mapped=mapped(x),
    scanned=scanned(x),
    laplacian=laplacian(image),
    convolved=convolved(volume, weights[:, :3, :3]),
    slope=slope,
)
