"""Programs that the pictures show, written as in the documents: without annotations."""

import jitney.numpy as jnp


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
