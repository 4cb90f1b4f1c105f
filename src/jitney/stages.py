"""`jax.stages`: a jitted function between Python and machine code."""

from jitney.api.jit import JitFunction
from jitney.api.stages import ArgInfo as ArgInfo
from jitney.api.stages import Compiled as Compiled
from jitney.api.stages import Lowered as Lowered
from jitney.api.stages import Traced as Traced

Wrapped = JitFunction  # a function with `trace` and `lower`
CompilerOptions = dict[str, str | bool]
