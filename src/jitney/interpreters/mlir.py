"""`jax.interpreters.mlir`: lowering rules of user-defined primitives.

Programs are lowered to the tensor IR of jitney, not to MLIR. A lowering rule is therefore either
derived from a function of arrays,

    register_lowering(prim, lower_fun(fun, multiple_results=False))

or it is a function (context, *nodes, **params) that uses the builder of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.hlo.ir import Node as Value, TensorType
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.mesh import Mesh as Mesh
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.types.effects import lowerable_effects as lowerable_effects
from jitney.core.util.lazy import listing, refusing
from jitney.interpreters.lowered_programs import (
    LoweringResult as LoweringResult,
    aval_to_ir_types as aval_to_ir_types,
    core_call_lowering as core_call_lowering,
    flatten_ir_types as flatten_ir_types,
    flatten_ir_values as flatten_ir_values,
    jaxpr_subcomp as jaxpr_subcomp,
    lower_jaxpr_to_module as lower_jaxpr_to_module,
    module_to_bytecode as module_to_bytecode,
    module_to_string as module_to_string,
    token_type as token_type,
    unflatten_ir_values_like_types as unflatten_ir_values_like_types,
)
from jitney.interpreters.tables import set_rule
from jitney.primitives.host.callback import call_of
from jitney.primitives.lowering_context import (
    LoweringRuleContext as LoweringRuleContext,
    ModuleContext as ModuleContext,
    TokenSet as TokenSet,
)

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder
    from jitney.core.typing import DTypeLike, Value as ArrayValue

LoweringRule = Callable[..., Any]
Token = Value


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Sets the lowering rule of `prim`.

    A rule for all platforms does not replace a rule that was registered for the CPU explicitly.

    Args:
      prim: the primitive.
      rule: function (context, *nodes, **params) that returns a sequence of nodes, or a single node
        for a primitive with one result.
      platform: platform of the rule; None for all platforms. Rules for platforms other than the CPU
        are ignored.
      inline: accepted for compatibility.
      cacheable: accepted for compatibility.
    """
    if platform not in (None, "cpu"):
        return
    if platform is None and prim in _for_cpu:
        return
    if platform == "cpu":
        _for_cpu.add(prim)

    def lower(
        b: Builder, avals_in: Sequence[AbstractValue], *nodes: Value, **params: object
    ) -> Value | list[Value]:
        out_types, _ = prim.result_type(tuple(avals_in), params)
        avals_out = out_types if prim.multiple_results else [out_types]
        context = LoweringRuleContext(b, prim, avals_in, avals_out, ModuleContext(builder=b))
        out = rule(context, *nodes, **params)
        outs = list(out) if isinstance(out, list | tuple) else [out]
        return outs if prim.multiple_results else outs[0]

    set_rule(prim, "lower_with_avals", lower)
    prim.absences.pop("lower", None)


_for_cpu: set[Primitive] = set()  # primitives with a rule for the CPU, which takes precedence


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """Returns a lowering rule that traces a function of arrays and inlines its program.

    Args:
      fun: a function of the operands of the primitive, with the parameters as keyword arguments.
      multiple_results: whether `fun` returns a sequence of arrays.
    """

    def rule(ctx: LoweringRuleContext, *nodes: Value, **params: object) -> list[Value]:
        def flat(*xs: ArrayValue) -> Sequence[Value]:
            out = fun(*xs, **params)
            return out if multiple_results else (out,)

        name = getattr(fun, "__name__", "lower_fun")
        jaxpr, _, consts = trace_to_jaxpr(flat, ctx.avals_in, DebugInfo("lower_fun", name))
        return lowering.inline(ctx.builder, ClosedJaxpr(jaxpr, consts), nodes)

    return rule


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Sequence[ArrayValue]],
    token: object,
    operands: Sequence[Value],
    operand_avals: Sequence[AbstractValue],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: object = None,
) -> tuple[list[Value], object, Callable[..., Sequence[ArrayValue]]]:
    """Emits a call of a Python function into the program that is being lowered.

    Args:
      ctx: context of the lowering rule.
      callback: a function of arrays that returns a sequence of arrays.
      token: returned unchanged; callbacks with side effects run in program order without tokens.
      operands: nodes of the operands.
      operand_avals: types of the operands.
      result_avals: types of the results.
      has_side_effect: whether `callback` must be called exactly once, in program order. Otherwise
        it is called as often as its results are needed.
      returns_token: accepted for compatibility.
      partitioned: accepted for compatibility.
      sharding: accepted for compatibility.

    Returns: (nodes of the results, `token`, `callback`). JAX requires that the last one be kept
      alive; here the program itself refers to it.

    Raises:
      JaxRuntimeError: when the program runs, if the callback raises an exception, or returns values
        that do not have the types `result_avals`.
    """
    outs = call_of(
        ctx.builder, "python_callback", callback, operand_avals, operands, result_avals,
        has_side_effect,
    )  # fmt: skip
    return outs, token, callback


def ir_constant(val: ArrayValue, *, ctx: LoweringRuleContext) -> Value:
    """Returns a constant node in the program that `ctx` belongs to."""
    return ctx.builder.constant(np.asarray(val))


def aval_to_ir_type(ctx: object, aval: AbstractValue) -> TensorType:
    """Returns the tensor IR type of values of type `aval`."""
    return lowering.tensor_type(aval)


def dtype_to_ir_type(dtype: DTypeLike) -> TensorType:
    """Returns the tensor IR type of a scalar of `dtype`."""
    return TensorType((), np.dtype(dtype))


__all__ = [
    "LoweringResult", "LoweringRule", "LoweringRuleContext", "Mesh", "ModuleContext", "Token",
    "TokenSet", "Value", "aval_to_ir_type", "aval_to_ir_types", "core_call_lowering",
    "dtype_to_ir_type", "emit_python_callback", "flatten_ir_types", "flatten_ir_values",
    "ir_constant", "jaxpr_subcomp", "lower_fun", "lower_jaxpr_to_module", "lowerable_effects",
    "module_to_bytecode", "module_to_string", "register_lowering", "token_type",
    "unflatten_ir_values_like_types",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
