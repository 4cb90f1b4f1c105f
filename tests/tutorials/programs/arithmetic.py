"""Computations with numbers: eager and compiled results agree, random numbers are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import jit, random

key = random.PRNGKey(8)
key, subkey1, subkey2 = random.split(key, 3)
a = random.normal(subkey1, (500, 500))
b = random.normal(subkey2, (500, 500))


def sum_squared_error(a, b):
    return jnp.sum((a - b) ** 2)


print(f"{sum_squared_error(a, b):.0f} {jit(sum_squared_error)(a, b):.0f}")


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


x = jnp.arange(1000000)
selu_jit = jax.jit(selu)
print(selu(x).block_until_ready()[:3], selu_jit(x).block_until_ready()[-1])
print(np.allclose(selu(x - 3.0), selu_jit(x - 3.0), rtol=1e-6))


def quadratic_formula(a, b):
    return (-b + jnp.sqrt(b**2 - 4 * a)) / (2 * a)


print(quadratic_formula(2.0, 5.0), jit(quadratic_formula)(jnp.array([2.0, 1.0]), 5.0))

key = random.PRNGKey(1234)
w = random.normal(key=key, shape=[100, 200], dtype=jnp.float32)
key, subkey = random.split(key)
x = random.normal(key=subkey, shape=[200, 300], dtype=jnp.float32)


def forward(w, x):
    z = jnp.dot(w, x)
    return z, jnp.maximum(0.0, z)


z, activated = jit(forward)(w, x)
print(np.round(w[0, :3], 4), np.round(x[0, :3], 4))
print(np.allclose(z, np.asarray(w) @ np.asarray(x), atol=1e-4), activated.min(), activated.shape)


def centred(x):
    return x.T @ (x - x.mean(axis=0))


ones = np.ones((100, 100), dtype=np.float32)
put = jax.device_put(ones)
print(np.array_equal(centred(ones), jit(centred)(put)), jit(centred)(put).dtype)

traces = []


def step(i):
    traces.append(i)
    return i + 1


i = 0
while i < 20:
    i = jit(step)(i)
print(i, len(traces) <= 2)
print(jit(jnp.cos)(0.0))
