"""asdex: sparse Jacobians and Hessians by colors of their columns, detected from jaxprs."""

import sys

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

if not hasattr(jax._src.core, "ClosedJaxpr"):  # which JAX 0.12 has removed
    jax._src.core.ClosedJaxpr = jax.extend.core.ClosedJaxpr

import asdex


def f(x):
    return (x[1:] - x[:-1]) ** 2


x = jnp.arange(50.0) / 8
jacobian = jax.jit(asdex.jacobian(f, jnp.zeros(50)))(x)
coloring = asdex.jacobian_coloring(f, jnp.zeros(50))
hessian = asdex.hessian(lambda x: jnp.sum(f(x) * jnp.sin(x[1:])), jnp.zeros(50))(x)

np.savez(
    sys.argv[1],
    jacobian=jacobian.todense(),
    indices=jacobian.indices,
    colors=coloring.num_colors,
    hessian=hessian.todense(),
)
