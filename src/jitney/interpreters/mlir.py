"""`jax.interpreters.mlir`: lowering rules of users' primitives.

Programs are lowered to this package's own tensor IR, not to MLIR; a lowering is therefore given as a
function of arrays, `register_lowering(prim, lower_fun(fun, multiple_results=False))`, or as a rule
(context, *nodes, **params) that uses the context's builder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import Node as Value, TensorType
from jitney.core.avals import AbstractValue, ShapedArray
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.lazy import listing, refusing
from jitney.core.primitive import Primitive
from jitney.core.record import record
from jitney.interpreters.tables import set_rule
from jitney.primitives.host.callback import call_of

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike, Value as ArrayValue

LoweringRule = Callable[..., Any]


class ModuleContext:
    """The context that the lowering rules of one program share.

    Attributes:
      platforms: what the program is compiled for.
    """

    platforms: tuple[str, ...] = ("cpu",)

    def add_keepalive(self, keepalive: object) -> None:
        """Does nothing: a program holds the Python functions that it calls."""


@record(frozen=True)
class LoweringRuleContext:
    """The context of a lowering rule.

    Attributes:
      builder: makes nodes of the tensor IR.
      primitive: the primitive.
      avals_in: types of its operands.
      avals_out: types of its results.
      module_context: the context that the rules of one program share.
    """

    builder: Builder
    primitive: Primitive
    avals_in: Sequence[AbstractValue]
    avals_out: Sequence[AbstractValue]
    module_context: ModuleContext = ModuleContext()


def register_lowering(
    prim: Primitive,
    rule: LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Sets how `prim` is compiled.

    Args:
      prim: the primitive.
      rule: (context, *nodes, **params) -> sequence of nodes; one node will do for one result.
      platform: where; rules for other platforms than the CPU are left alone.
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
    ) -> Any:
        out_types, _ = prim.result_type(tuple(avals_in), params)
        avals_out = out_types if prim.multiple_results else [out_types]
        out = rule(LoweringRuleContext(b, prim, avals_in, avals_out), *nodes, **params)
        outs = list(out) if isinstance(out, list | tuple) else [out]
        return outs if prim.multiple_results else outs[0]

    set_rule(prim, "lower_with_avals", lower)
    prim.absences.pop("lower", None)


_for_cpu: set[Primitive] = set()  # primitives with a rule for the CPU, which others do not replace


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweringRule:
    """Returns a lowering rule from a function of arrays.

    Args:
      fun: takes the primitive's operands and parameters.
      multiple_results: whether it returns a sequence.
    """

    def rule(ctx: LoweringRuleContext, *nodes: Value, **params: object) -> list[Any]:
        def flat(*xs: ArrayValue) -> Sequence[Any]:
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
) -> tuple[list[Value], Any, Any]:
    """Emits a call of a Python function, for lowering rules.

    Args:
      ctx: the rule's context.
      callback: takes arrays; returns a sequence of arrays.
      token: handed back: calls with side effects have the program's order.
      operands: nodes.
      operand_avals: their types.
      result_avals: types of the callback's results.
      has_side_effect: whether it is called exactly once, or as often as its results are needed.
      returns_token: accepted for compatibility.
      partitioned: accepted for compatibility: there is one device.
      sharding: accepted for compatibility.

    Returns: (nodes of the results, `token`, what must live as long as the program).

    Raises:
      JaxRuntimeError: when the program runs, if the callback raises, or returns other types.
    """
    outs = call_of(
        ctx.builder, "python_callback", callback, operand_avals, operands, result_avals,
        has_side_effect,
    )  # fmt: skip
    return outs, token, callback


def ir_constant(val: ArrayValue, *, ctx: LoweringRuleContext) -> Any:
    """Returns a constant as a node of the program that `ctx` belongs to."""
    return ctx.builder.constant(np.asarray(val))


def aval_to_ir_type(ctx: object, aval: AbstractValue) -> TensorType:
    """Returns the type of the tensor IR for values of type `aval`."""
    return lowering.tensor_type(aval)


def dtype_to_ir_type(dtype: DTypeLike) -> TensorType:
    """Returns the type of a scalar of `dtype`."""
    return TensorType((), np.dtype(dtype))


__all__ = [
    "LoweringRule", "LoweringRuleContext", "ModuleContext", "Value", "aval_to_ir_type",
    "dtype_to_ir_type", "emit_python_callback", "ir_constant", "lower_fun", "register_lowering",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
