"""optimistix: Levenberg-Marquardt on the sum of two exponentials, 100 measurements."""

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx

from benchmarks.libraries.timing import report

t = jnp.linspace(0.0, 4.0, 100)
noise = jnp.asarray(np.random.default_rng(0).normal(size=100), jnp.float32)
measured = 2.0 * jnp.exp(-1.3 * t) + 0.5 * jnp.exp(-0.3 * t) + 0.01 * noise


def residuals(p, args):
    t, y = args
    return p[0] * jnp.exp(-p[1] * t) + p[2] * jnp.exp(-p[3] * t) - y


solver = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)


@jax.jit
def fit(start, t, measured):
    return optx.least_squares(residuals, solver, start, args=(t, measured)).value


start = jnp.array([1.0, 1.0, 1.0, 0.1])
report(lambda: fit(start, t, measured))
