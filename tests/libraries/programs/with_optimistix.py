"""optimistix: roots, fixed points, least squares and minima, and gradients through them."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx

times = jnp.linspace(0.0, 4.0, 30)
data = 2.0 * jnp.exp(-0.7 * times) + 0.3


def residuals(params, args):
    a, k, c = params
    return a * jnp.exp(-k * times) + c - args


def rosenbrock(x, args):
    return (1 - x[0]) ** 2 + args * (x[1] - x[0] ** 2) ** 2


start = (jnp.array(1.0), jnp.array(1.0), jnp.array(0.0))
lm = optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6)


@jax.jit
def fit(data):
    return jnp.stack(optx.least_squares(residuals, lm, start, args=data).value)


def root(a):
    newton = optx.Newton(rtol=1e-6, atol=1e-6)
    return optx.root_find(lambda y, a: y**3 + a * y - 1, newton, jnp.array(1.0), args=a).value


np.savez(
    sys.argv[1],
    fit=fit(data),
    sensitivity=jax.jacrev(fit)(data),
    root=root(2.0),
    root_gradient=jax.grad(root)(2.0),
    fixed_point=optx.fixed_point(
        lambda y, a: jnp.cos(a * y), optx.FixedPointIteration(1e-6, 1e-6), jnp.array(0.5), args=0.9
    ).value,
    minimum=optx.minimise(
        rosenbrock, optx.BFGS(1e-6, 1e-6), jnp.array([-1.0, 1.0]), args=5.0, max_steps=500
    ).value,
    bisection=optx.root_find(
        lambda y, _: jnp.exp(y) - 2, optx.Bisection(1e-5, 1e-5), jnp.array(0.5),
        options={"lower": 0.0, "upper": 1.0},
    ).value,
)  # fmt: skip
