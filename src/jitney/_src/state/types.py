"""`jax._src.state.types`; flax asks whether a value is a reference by its type."""

from jitney.core.refs import AbstractRef as AbstractRef
