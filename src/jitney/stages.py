"""`jax.stages`: the stages of a jitted function: traced, lowered, compiled."""

from jitney.api.jit.jit import JitFunction
from jitney.api.jit.stages import (
    ArgInfo as ArgInfo,
    Compiled as Compiled,
    Lowered as Lowered,
    Traced as Traced,
)
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)

Wrapped = JitFunction  # a function with `trace` and `lower`
CompilerOptions = dict[str, str | bool]
