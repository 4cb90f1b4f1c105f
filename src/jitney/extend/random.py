"""`jax.extend.random`: the generator under `jax.random`."""

from jitney.ops.threefry import threefry2x32_p as threefry2x32_p
