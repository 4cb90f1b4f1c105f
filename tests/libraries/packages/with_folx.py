"""folx: Laplacians by a forward pass over jaxprs, dense and sparse."""

import sys

import folx
import jax
import jax.numpy as jnp
import numpy as np

w1 = jax.random.normal(jax.random.key(0), (4, 16)) / 2
w2 = jax.random.normal(jax.random.key(1), (16, 1)) / 4
x = jax.random.normal(jax.random.key(2), (6, 4))


def f(x):
    return jnp.sum(jax.nn.silu(jnp.tanh(x @ w1) @ w2)) + jnp.prod(jnp.cos(x[0]))


found = folx.forward_laplacian(f)(x)
sparse = jax.jit(folx.ForwardLaplacianOperator(4)(f))(x)
loop = jax.jit(folx.LoopLaplacianOperator()(f))(x)
np.savez(
    sys.argv[1],
    value=found.x,
    jacobian=found.jacobian.dense_array,
    laplacian=found.laplacian,
    sparse=sparse[0],
    gradient=sparse[1],
    loop=loop[0],
)
