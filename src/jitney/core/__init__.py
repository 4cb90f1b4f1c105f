"""The data structures on which all other subpackages build; its public names form `jax.core`."""

import importlib
from typing import Any, Union

from jitney.core.types.avals import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from jitney.core.symbolic.expressions import max_dim as max_dim, min_dim as min_dim
from jitney.core.program.evaluate import eval_jaxpr as eval_jaxpr
from jitney.core.program.jaxpr import Literal, Var
from jitney.core.tracing.compile_time_eval import (
    ensure_compile_time_eval as ensure_compile_time_eval,
)
from jitney.core.util.lazy import listing
from jitney.core.tracing.trace import (
    Trace as Trace,
    Tracer as Tracer,
    eval_context as eval_context,
)

__dir__ = listing(__name__)

Atom = Union[Var, Literal]  # as in JAX; libraries call `typing.get_origin` on it
ParamDict = dict[str, Any]
Value = Any

# Names that JAX has deprecated but libraries still use: name -> module that defines it here.
_DEPRECATED = {
    "CallPrimitive": "recording.compat",
    "DebugInfo": "program.jaxpr",
    "DropVar": "program.jaxpr",
    "Effect": "types.effects",
    "Effects": "types.effects",
    "InconclusiveDimensionOperation": "diagnostics.errors",
    "JaxprPpContext": "program.text:Context",
    "JaxprPpSettings": "program.text:Settings",
    "JaxprTypeError": "program.typecheck",
    "abstract_token": "types.avals",
    "check_jaxpr": "program.typecheck",
    "concrete_or_error": "tracing.trace",
    "find_top_trace": "tracing.trace",
    "gensym": "recording.compat",
    "get_opaque_trace_state": "tracing.trace",
    "is_concrete": "tracing.trace",
    "is_constant_dim": "recording.compat",
    "is_constant_shape": "recording.compat",
    "jaxprs_in_params": "program.jaxpr",
    "new_jaxpr_eqn": "program.jaxpr",
    "no_effects": "types.effects",
    "nonempty_axis_env_DO_NOT_USE": "recording.compat",
    "primal_dtype_to_tangent_dtype": "recording.compat",
    "pytype_aval_mappings": "types.avals",
    "trace_ctx": "tracing.trace:state",
    "unsafe_am_i_under_a_jit_DO_NOT_USE": "recording.compat",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE": "recording.compat",
    "unsafe_get_axis_names_DO_NOT_USE": "recording.compat",
    "valid_jaxtype": "recording.compat",
}
# Those of them that `jax.extend.core` lacks.
_WITHOUT_SUCCESSOR = frozenset(
    "JaxprPpContext JaxprPpSettings abstract_token is_concrete is_constant_dim "
    "is_constant_shape pytype_aval_mappings trace_ctx".split()
)


def __getattr__(name: str) -> object:
    where = _DEPRECATED.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = where.partition(":")
    from jitney.core.source.user_warnings import warn  # late: it is not part of `jax.core`

    successor = "" if name in _WITHOUT_SUCCESSOR else f"; use jax.extend.core.{name}"
    warn(f"jax.core.{name} is deprecated{successor}", DeprecationWarning)
    return getattr(importlib.import_module(f"jitney.core.{module}"), attribute or name)
