"""`jax.experimental`: what JAX keeps there."""

from jitney.api.callbacks import io_callback as io_callback
