"""`jax.experimental.layout`: the order of an array's axes in memory, and where the array is."""

from jitney.runtime.sharding import Format as Format, Layout as Layout
