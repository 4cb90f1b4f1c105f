"""diffrax: Tsit5 on the Lorenz system, 10,000 steps."""

import diffrax
import jax
import jax.numpy as jnp

from benchmarks.libraries.timing import report


def lorenz(t, y, args):
    sigma, rho, beta = args
    return jnp.stack([sigma * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - beta * y[2]])


@jax.jit
def end(y, args):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lorenz), diffrax.Tsit5(), 0.0, 10.0, 0.001, y, args, max_steps=10_001
    )
    return solution.ys


start, parameters = jnp.array([1.0, 0.5, 0.2]), jnp.array([10.0, 28.0, 8 / 3])
report(lambda: end(start, parameters))
