"""thermox: Ornstein-Uhlenbeck processes sampled exactly, and linear algebra by them."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import thermox

A = jnp.array([[2.0, 0.5, 0.0], [0.5, 2.0, 0.5], [0.0, 0.5, 2.0]])
b = jnp.array([1.0, 2.0, 3.0])
D = 2 * jnp.eye(3)
key = jax.random.key(0)
times = jnp.arange(0, 5, 0.1)
path = thermox.sample(key, times, jnp.zeros(3), A, b, D)
density = thermox.log_prob(times, path, A, b, D)
solution = thermox.linalg.solve(A, b, num_samples=200, key=key)
inverse = thermox.linalg.inv(A, num_samples=200, key=key)

np.savez(sys.argv[1], path=path, density=density, solution=solution, inverse=inverse)
