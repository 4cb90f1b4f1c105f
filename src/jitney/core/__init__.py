"""The data structures on which all other subpackages build; its public names form `jax.core`."""

import importlib
from typing import Any, Union

from jitney.core.avals import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from jitney.core.symbolic.expressions import max_dim as max_dim, min_dim as min_dim
from jitney.core.evaluate import eval_jaxpr as eval_jaxpr
from jitney.core.jaxpr import Literal, Var
from jitney.core.compile_time_eval import ensure_compile_time_eval as ensure_compile_time_eval
from jitney.core.lazy import listing
from jitney.core.trace import (
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
    "CallPrimitive": "compat",
    "DebugInfo": "jaxpr",
    "DropVar": "jaxpr",
    "Effect": "effects",
    "Effects": "effects",
    "InconclusiveDimensionOperation": "errors",
    "JaxprPpContext": "text.Context",
    "JaxprPpSettings": "text.Settings",
    "JaxprTypeError": "typecheck",
    "abstract_token": "avals",
    "check_jaxpr": "typecheck",
    "concrete_or_error": "trace",
    "find_top_trace": "trace",
    "gensym": "compat",
    "get_opaque_trace_state": "trace",
    "is_concrete": "trace",
    "is_constant_dim": "compat",
    "is_constant_shape": "compat",
    "jaxprs_in_params": "jaxpr",
    "new_jaxpr_eqn": "jaxpr",
    "no_effects": "effects",
    "nonempty_axis_env_DO_NOT_USE": "compat",
    "primal_dtype_to_tangent_dtype": "compat",
    "pytype_aval_mappings": "avals",
    "trace_ctx": "trace.state",
    "unsafe_am_i_under_a_jit_DO_NOT_USE": "compat",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE": "compat",
    "unsafe_get_axis_names_DO_NOT_USE": "compat",
    "valid_jaxtype": "compat",
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
    module, _, attribute = where.partition(".")
    from jitney.core.user_warnings import warn  # imported late: `warn` is not part of `jax.core`

    successor = "" if name in _WITHOUT_SUCCESSOR else f"; use jax.extend.core.{name}"
    warn(f"jax.core.{name} is deprecated{successor}", DeprecationWarning)
    return getattr(importlib.import_module(f"jitney.core.{module}"), attribute or name)
