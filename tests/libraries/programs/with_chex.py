"""chex: dataclasses as pytrees, assertions, in and outside of `jit`, and limits on compilation."""

import sys

import chex
import jax
import jax.numpy as jnp
import numpy as np


@chex.dataclass
class State:
    position: chex.Array
    velocity: chex.Array


@jax.jit
@chex.assert_max_traces(n=2)
def step(state, dt):
    chex.assert_equal_shape([state.position, state.velocity])
    chex.assert_rank(state.position, 1)
    moved = state.position + dt * state.velocity
    return state.replace(position=moved, velocity=state.velocity - dt * moved)


state = State(position=jnp.arange(3.0), velocity=jnp.ones(3))
for _ in range(10):
    state = step(state, 0.1)
chex.assert_tree_all_finite(state)
chex.assert_trees_all_close(state, jax.tree.map(lambda x: x + 1e-7, state), atol=1e-5)
chex.assert_trees_all_equal_shapes_and_dtypes(state, jax.tree.map(jnp.zeros_like, state))

refused = []
for wrong in (
    lambda: chex.assert_shape(jnp.ones((2, 3)), (3, 2)),
    lambda: chex.assert_type(jnp.ones(2), int),
    lambda: chex.assert_trees_all_close({"a": jnp.ones(2)}, {"a": jnp.zeros(2)}),
    lambda: chex.assert_scalar_positive(-1.0),
):
    try:
        wrong()
        refused.append(0.0)
    except AssertionError:
        refused.append(1.0)


@chex.chexify
@jax.jit
def checked(x):
    chex.assert_trees_all_close(x, jnp.abs(x), custom_message="negative")
    return jnp.sqrt(x)


root = checked(jnp.array([4.0, 9.0]))
checked.wait_checks()
try:
    checked(jnp.array([4.0, -9.0]))
    checked.wait_checks()
    refused.append(0.0)
except AssertionError:
    refused.append(1.0)

try:
    with chex.restrict_backends(forbidden=["cpu"]):
        jax.jit(lambda x: x * 3 + 5)(jnp.ones(7))
    refused.append(0.0)
except RuntimeError:
    refused.append(1.0)

with chex.fake_jit():
    python = jax.jit(lambda x: x + float(x[0]))(jnp.ones(3))

with chex.fake_pmap():
    mapped = jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(1.0, 5.0))

np.savez(
    sys.argv[1],
    position=state.position,
    velocity=state.velocity,
    refused=refused,
    root=root,
    python=python,
    mapped=mapped,
)
