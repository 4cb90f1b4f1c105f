"""flashbax: replay buffers, filled and sampled under `jit`."""

import sys

import flashbax
import jax
import jax.numpy as jnp
import numpy as np

results = {}
step = {"obs": jnp.zeros(3), "reward": jnp.float32(0)}
for name, buffer in {
    "item": flashbax.make_item_buffer(64, 4, 8),
    "flat": flashbax.make_flat_buffer(64, 4, 8),
    "prioritised": flashbax.make_prioritised_flat_buffer(64, 4, 8),
}.items():
    state = jax.jit(buffer.init)(step)
    for k in range(20):
        new = {"obs": jnp.full(3, k, jnp.float32), "reward": jnp.float32(k) ** 2}
        state = jax.jit(buffer.add)(state, new)
    found = jax.jit(buffer.sample)(state, jax.random.PRNGKey(1))
    if name == "prioritised":
        state = buffer.set_priorities(state, found.indices, jnp.arange(1.0, 9.0))
        found = jax.jit(buffer.sample)(state, jax.random.PRNGKey(2))
        results["probabilities"] = found.probabilities
    for k, leaf in enumerate(jax.tree.leaves(found.experience)):
        results[f"{name}_{k}"] = leaf
np.savez(sys.argv[1], **results)
