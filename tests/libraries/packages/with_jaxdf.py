"""jaxdf: differential operators on fields by their Fourier series, differentiated."""

import sys

import jax
import numpy as np
from jax import numpy as jnp
from jaxdf import FourierSeries, operator, operators as jops
from jaxdf.geometry import Domain


@operator
def custom_op(u, *, params=None):
    laplacian = jops.sum_over_dims(jops.diag_jacobian(jops.gradient(u)))
    return laplacian + jops.compose(u)(jnp.sin)


jax.config.update("jax_enable_x64", True)
domain = Domain((16, 16), (1.0, 1.0))
grid = jnp.arange(16) * (2 * jnp.pi / 16)
u = FourierSeries((jnp.sin(grid)[:, None] * jnp.cos(2 * grid))[..., None], domain)


@jax.jit
def loss(u):
    return jnp.mean(jnp.abs(custom_op(u).on_grid) ** 2)


slope = jax.grad(loss)(u)

np.savez(sys.argv[1], value=custom_op(u).on_grid, loss=loss(u), slope=slope.on_grid)
