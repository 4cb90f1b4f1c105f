"""grain: data shuffled, mapped and batched beside a jitted step."""

import sys

import grain
import jax
import jax.numpy as jnp
import numpy as np

data = (
    grain.MapDataset.source(np.arange(24, dtype=np.float32))
    .shuffle(seed=42)
    .map(lambda x: x + 1)
    .batch(batch_size=4)
)
step = jax.jit(lambda total, batch: total + jnp.sum(jnp.sqrt(batch)))
total = jnp.float32(0)
seen = []
for batch in data:
    total = step(total, batch)
    seen.append(batch)
np.savez(sys.argv[1], total=total, seen=np.stack(seen))
