"""Data structures that everything else is made of; what it names is `jax.core`."""

from typing import Any, Union

from jitney.core.avals import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from jitney.core.dimensions import max_dim as max_dim, min_dim as min_dim
from jitney.core.evaluate import eval_jaxpr as eval_jaxpr
from jitney.core.jaxpr import Literal, Var
from jitney.core.trace import (
    Trace as Trace,
    Tracer as Tracer,
    ensure_compile_time_eval as ensure_compile_time_eval,
    eval_context as eval_context,
)

Atom = Union[Var, Literal]  # as jax's; libraries ask for its `typing.get_origin`
ParamDict = dict[str, Any]
Value = Any
