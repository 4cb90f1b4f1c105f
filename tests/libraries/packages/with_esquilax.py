"""esquilax: a flock of agents that see those near to them, simulated and joined in a graph."""

import sys

import esquilax
import jax
import jax.numpy as jnp
import numpy as np
from esquilax import reductions, transforms


def toward(params, a, b):
    return params * (b - a)


def step(i, key, params, state):
    pos, velocity = state
    pull = transforms.spatial(
        toward, reduction=reductions.add(shape=(2,)), include_self=False, i_range=0.25
    )(params, velocity, velocity, pos=pos)
    nearest = transforms.nearest_neighbour(toward, default=jnp.zeros(2), i_range=0.25)(
        0.5, pos, pos, pos=pos
    )
    noise = transforms.amap(lambda p, x, *, key: p * jax.random.normal(key, x.shape))(
        0.01, velocity, key=key
    )
    velocity = 0.9 * velocity + pull + 0.1 * nearest + noise
    return ((pos + 0.05 * velocity) % 1.0, velocity), pos


k1, k2 = jax.random.split(jax.random.PRNGKey(0))
start = jax.random.uniform(k1, (30, 2)), jax.random.normal(k2, (30, 2))
(pos, velocity), history, _ = esquilax.runner.sim_runner(
    step, 0.1, start, 20, 101, show_progress=False
)
edges = jnp.array([[0, 0, 1, 2], [1, 2, 2, 0]])
reduced = transforms.graph_reduce(lambda p, a, b, e: p + a * b + e, reduction=reductions.add())(
    1.0, jnp.arange(3.0), jnp.arange(3.0), jnp.arange(4.0), edge_idxs=edges
)

np.savez(sys.argv[1], pos=pos, velocity=velocity, middle=history[10], reduced=reduced)
