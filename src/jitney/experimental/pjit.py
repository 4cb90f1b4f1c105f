"""`jax.experimental.pjit`: where `jit` with placements of arguments and results was once."""

from jitney.api.jit import pjit as pjit
from jitney.core.lazy import listing

__dir__ = listing(__name__)
