"""`jax.extend.core`: jaxprs and the classes of their parts."""

from typing import TYPE_CHECKING

from jitney.core.util.lazy import listing, refusing
from jitney.core.types.avals import AbstractToken as AbstractToken
from jitney.core.types.avals import mapped_aval as mapped_aval
from jitney.core.types.avals import unmapped_aval as unmapped_aval
from jitney.core.types.effects import Effect as Effect
from jitney.core.types.effects import Effects as Effects
from jitney.core.types.effects import no_effects as no_effects
from jitney.core.diagnostics.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from jitney.core.program.evaluate import jaxpr_as_fun as jaxpr_as_fun
from jitney.core.program.jaxpr import ClosedJaxpr as ClosedJaxpr
from jitney.core.program.jaxpr import DebugInfo as DebugInfo
from jitney.core.program.jaxpr import DropVar as DropVar
from jitney.core.program.jaxpr import Jaxpr as Jaxpr
from jitney.core.program.jaxpr import JaxprEqn as JaxprEqn
from jitney.core.program.jaxpr import Literal as Literal
from jitney.core.program.jaxpr import Var as Var
from jitney.core.program.jaxpr import jaxprs_in_params as jaxprs_in_params
from jitney.core.program.jaxpr import new_jaxpr_eqn as new_jaxpr_eqn
from jitney.core.program.jaxpr import subjaxprs as subjaxprs
from jitney.core.tracing.primitive import Primitive as Primitive
from jitney.core.recording.compat import CallPrimitive as CallPrimitive
from jitney.core.recording.compat import Token as Token
from jitney.core.recording.compat import array_types as array_types
from jitney.core.recording.compat import call_impl as call_impl
from jitney.core.recording.compat import gensym as gensym
from jitney.core.recording.compat import (
    nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE,
)
from jitney.core.recording.compat import (
    primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype,
)
from jitney.core.recording.compat import (
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
)
from jitney.core.recording.compat import (
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
)
from jitney.core.recording.compat import (
    unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE,
)
from jitney.core.recording.compat import valid_jaxtype as valid_jaxtype
from jitney.core.tracing.trace import TraceTag as TraceTag
from jitney.core.tracing.trace import concrete_or_error as concrete_or_error
from jitney.core.tracing.trace import find_top_trace as find_top_trace
from jitney.core.tracing.trace import get_opaque_trace_state as get_opaque_trace_state
from jitney.core.tracing.remembering import set_current_trace as set_current_trace
from jitney.core.tracing.remembering import take_current_trace as take_current_trace
from jitney.core.program.typecheck import JaxprTypeError as JaxprTypeError
from jitney.core.program.typecheck import check_jaxpr as check_jaxpr
from jitney.extend.core import primitives as primitives

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
