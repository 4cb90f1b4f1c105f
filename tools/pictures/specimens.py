"""Programs that the pictures show, written as in the documents: without annotations."""

import jitney.numpy as jnp
from jitney import lax


def center(x):
    mean = x.mean(axis=1, keepdims=True)
    return x - mean


def f(x):
    y = jnp.sin(x)
    return y * x


def unit(x):
    y = jnp.tanh(0.5 * x + 1.0)
    return y / jnp.sqrt(jnp.sum(y * y))


def loss(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return jnp.sum(x * x)


def layer(w1, w2, x):
    return jnp.tanh(x @ w1) @ w2


def diffuse(u):
    def step(u, _):
        u = jnp.pad(u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]), 1)
        return u, u.max()

    return lax.scan(step, u, length=10)


def lorenz(state):
    def step(u, _):
        x, y, z = u
        du = jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        return u + 0.01 * du, None

    return lax.scan(step, state, length=1000)[0]
