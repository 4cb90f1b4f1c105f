"""matfree: traces, log-determinants and decompositions from products with vectors."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from matfree import decomp, funm, stochtrace

A = jnp.reshape(jnp.arange(12.0), (6, 2))
sampler = stochtrace.sampler_signs(jnp.zeros((2,)), num=10_000)
estimate = stochtrace.estimator_monte_carlo(stochtrace.monte_carlo_trace(), sampler)
trace = estimate(lambda x: A.T @ (A @ x), jax.random.PRNGKey(1))

B = jax.random.normal(jax.random.key(0), (20, 20))
B = B @ B.T + 20 * jnp.eye(20)
tridiagonal = decomp.tridiag_sym(8, materialize=True)
integrand = funm.monte_carlo_funm_sym_logdet(tridiagonal)
logdet_sampler = stochtrace.sampler_normal(jnp.zeros(20), num=50)
logdet = stochtrace.estimator_monte_carlo(integrand, logdet_sampler)
value, slope = jax.value_and_grad(lambda s: logdet(lambda v: s * (B @ v), jax.random.key(2)))(1.5)

np.savez(sys.argv[1], trace=trace, logdet=value, slope=slope)
