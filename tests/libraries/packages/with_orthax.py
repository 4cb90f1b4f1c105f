"""orthax: series of orthogonal polynomials, their roots, products and quadratures."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import orthax

c, d = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.5, -1.0, 0.25, 2.0])
x = jnp.linspace(-1, 1, 7)
nodes, weights = orthax.legendre.leggauss(8)

np.savez(
    sys.argv[1],
    chebyshev=orthax.chebyshev.chebval(x, c),
    product=orthax.chebyshev.chebmul(c, d),
    derivative=orthax.legendre.legder(d),
    fit=orthax.polynomial.polyfit(x, jnp.sin(x), 3),
    roots=jnp.sort(orthax.hermite.hermroots(c).real),
    integral=jnp.sum(weights * jnp.exp(nodes)),
    slope=jax.grad(lambda c: orthax.laguerre.lagval(0.3, c))(d),
    batch=jax.vmap(lambda c: orthax.chebyshev.chebval(x, c))(jnp.stack([c, 2 * c])),
)
