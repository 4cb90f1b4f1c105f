"""quadax: adaptive quadratures, over infinite intervals too, and their derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import quadax

f = lambda t, a: t * jnp.log(1 + a * t)  # noqa: E731
value, info = quadax.quadgk(f, jnp.array([0.0, 1.0]), args=(1.0,), epsabs=1e-5, epsrel=1e-5)
bell, _ = quadax.quadgk(lambda t: jnp.exp(-(t**2)), jnp.array([-jnp.inf, jnp.inf]), epsabs=1e-5)
romberg, _ = quadax.romberg(f, jnp.array([0.0, 1.0]), args=(1.0,), epsabs=1e-5, epsrel=1e-5)
slope = jax.grad(
    lambda a: quadax.quadcc(f, jnp.array([0.0, 1.0]), args=(a,), epsabs=1e-5, epsrel=1e-5)[0]
)(1.0)
samples = jnp.linspace(0, 1, 33)

np.savez(
    sys.argv[1],
    value=value,
    bell=bell,
    romberg=romberg,
    slope=slope,
    simpson=quadax.simpson(jnp.sin(samples), x=samples),
    running=quadax.cumulative_trapezoid(jnp.sin(samples), x=samples),
)
