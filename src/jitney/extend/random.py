"""`jax.extend.random`: the generator under `jax.random`."""

from jitney.primitives.random.threefry import threefry2x32_p as threefry2x32_p
