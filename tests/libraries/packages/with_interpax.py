"""interpax: splines in one to three dimensions, with derivatives of arguments and values."""

import sys

import interpax
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.linspace(0, 2 * jnp.pi, 12)
y = jnp.sin(x)
xq = jnp.linspace(0.1, 6.0, 20)
spline = interpax.Interpolator1D(x, y, method="cubic2")
grid = jnp.sin(x)[:, None] * jnp.cos(x)[None, :]

results = {
    method: interpax.interp1d(xq, x, y, method=method)
    for method in ("nearest", "linear", "cubic", "cubic2", "catmull-rom", "monotonic", "akima")
}
np.savez(
    sys.argv[1],
    spline=spline(xq),
    derivative=spline(xq, dx=1),
    plane=interpax.interp2d(xq, xq[::-1], x, x, grid, method="cubic"),
    slope=jax.jit(jax.grad(lambda q: interpax.interp1d(q, x, y, method="cubic")))(1.3),
    by_values=jax.grad(lambda y: interpax.interp1d(xq, x, y, method="akima").sum())(y),
    fourier=interpax.fft_interp1d(y[:-1], 20, dx=x[1] - x[0]),
    **{name.replace("-", "_"): value for name, value in results.items()},
)
