"""`jax.experimental.pjit`: the former name of `jit` with shardings."""

from jitney.api.jit.jit import pjit as pjit
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
