"""`jax.experimental.pjit`: where `jit` with placements of arguments and results was once."""

from jitney.api.jit import pjit as pjit
