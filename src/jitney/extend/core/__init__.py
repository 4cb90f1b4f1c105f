"""`jax.extend.core`: jaxprs and the classes that they consist of."""

from typing import TYPE_CHECKING

from jitney.core.lazy import listing, refusing
from jitney.core.avals import AbstractToken as AbstractToken
from jitney.core.avals import mapped_aval as mapped_aval
from jitney.core.avals import unmapped_aval as unmapped_aval
from jitney.core.effects import Effect as Effect
from jitney.core.effects import Effects as Effects
from jitney.core.effects import no_effects as no_effects
from jitney.core.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from jitney.core.evaluate import jaxpr_as_fun as jaxpr_as_fun
from jitney.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from jitney.core.jaxpr import DebugInfo as DebugInfo
from jitney.core.jaxpr import DropVar as DropVar
from jitney.core.jaxpr import Jaxpr as Jaxpr
from jitney.core.jaxpr import JaxprEqn as JaxprEqn
from jitney.core.jaxpr import Literal as Literal
from jitney.core.jaxpr import Var as Var
from jitney.core.jaxpr import jaxprs_in_params as jaxprs_in_params
from jitney.core.jaxpr import new_jaxpr_eqn as new_jaxpr_eqn
from jitney.core.jaxpr import subjaxprs as subjaxprs
from jitney.core.primitive import Primitive as Primitive
from jitney.core.compat import CallPrimitive as CallPrimitive
from jitney.core.compat import Token as Token
from jitney.core.compat import array_types as array_types
from jitney.core.compat import call_impl as call_impl
from jitney.core.compat import gensym as gensym
from jitney.core.compat import nonempty_axis_env_DO_NOT_USE as nonempty_axis_env_DO_NOT_USE
from jitney.core.compat import primal_dtype_to_tangent_dtype as primal_dtype_to_tangent_dtype
from jitney.core.compat import (
    unsafe_am_i_under_a_jit_DO_NOT_USE as unsafe_am_i_under_a_jit_DO_NOT_USE,
)
from jitney.core.compat import (
    unsafe_am_i_under_a_vmap_DO_NOT_USE as unsafe_am_i_under_a_vmap_DO_NOT_USE,
)
from jitney.core.compat import unsafe_get_axis_names_DO_NOT_USE as unsafe_get_axis_names_DO_NOT_USE
from jitney.core.compat import valid_jaxtype as valid_jaxtype
from jitney.core.trace import TraceTag as TraceTag
from jitney.core.trace import concrete_or_error as concrete_or_error
from jitney.core.trace import find_top_trace as find_top_trace
from jitney.core.trace import get_opaque_trace_state as get_opaque_trace_state
from jitney.core.remembering import set_current_trace as set_current_trace
from jitney.core.remembering import take_current_trace as take_current_trace
from jitney.core.typecheck import JaxprTypeError as JaxprTypeError
from jitney.core.typecheck import check_jaxpr as check_jaxpr
from jitney.extend.core import primitives as primitives

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
