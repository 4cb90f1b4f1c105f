"""Primitives defined by a function of arrays, from which all rules but the type rule are derived.

Products with sparse arrays consist of gathers, multiplications and scatters. Since they are
primitives, they are single equations in jaxprs and for `sparsify`. They are inlined when they are
compiled, so that gather, multiplication and sum are fused into one kernel. The function is linear
in some operands (`linear_in`), which determines its JVP; the batching and transposition rules apply
`vmap` and linear transposition to the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from jitney.api.autodiff.autodiff import linear_transpose
from jitney.api.batching.vmap import vmap
from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import Primitive, declare
from jitney.primitives.rules import aval_of, is_float0, is_linear, zero_tangent
from jitney.transforms.zero import Zero, add_tangents

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Param,
        Tangent,
        Tangents,
        Value,
    )

Program = Callable[..., Any]


def composed(
    name: str,
    program: Program,
    type_rule: Callable[..., Any],
    *,
    linear_in: Sequence[int],
    multiple_results: bool = False,
) -> Primitive:
    """Declares a primitive that computes `program`.

    Args:
      name: name of the primitive.
      program: a function of arrays, with the parameters as keyword arguments. It returns an array,
        or a list of arrays of which only the first depends on the operands in `linear_in`.
      type_rule: function of the types of the operands, and of the parameters, that returns the
        types of the results. It must not depend on settings, since its results are memoized
        regardless of settings.
      linear_in: positions of the operands in which the function is linear, in each separately.
      multiple_results: whether the program returns a list.
    """
    prim = declare(name, multiple_results=multiple_results)
    prim.abstract(type_rule)

    def traced(avals: Sequence[AbstractValue], params: dict[str, Any]) -> ClosedJaxpr:
        def flat(*xs: Value) -> list[Value]:
            out = program(*xs, **params)
            return list(out) if multiple_results else [out]

        jaxpr, _, consts = trace_to_jaxpr(flat, avals, DebugInfo(name, name))
        return ClosedJaxpr(jaxpr, consts)

    prim.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")

    @prim.lower_with_avals
    def lower_with_avals_rule(
        b: Builder, avals: Sequence[AbstractValue], *nodes: Node, **params: Param
    ) -> Node | Sequence[Node]:
        out = lowering.inline(b, traced(avals, params), nodes)
        return out if multiple_results else out[0]

    @prim.batch
    def batch_rule(
        args: Sequence[Value], dims: Dims, **params: Param
    ) -> tuple[list[Value] | Value, list[int] | int]:
        out = vmap(functools.partial(program, **params), in_axes=tuple(dims))(*args)
        return (list(out), [0] * len(out)) if multiple_results else (out, 0)

    if linear_in:
        _derive(prim, program, linear_in)
    return prim


def is_nonzero(t: Tangent) -> TypeGuard[Array]:
    """Returns whether a tangent is an array of values: neither a symbolic zero nor float0."""
    return not isinstance(t, Zero) and not is_float0(aval_of(t))


def _derive(prim: Primitive, program: Program, linear_in: Sequence[int]) -> None:
    """Sets the JVP and transposition rules of a function that is linear in some operands."""

    @prim.jvp
    def jvp_rule(
        primals: Sequence[Value], tangents: Tangents, **params: Param
    ) -> tuple[list[Value] | Value, list[Tangent] | Tangent]:
        out = prim.bind(*primals, **params)
        total: Any = None
        for k in linear_in:
            if is_nonzero(t := tangents[k]):
                part = prim.bind(*primals[:k], t, *primals[k + 1 :], **params)
                part = part[0] if prim.multiple_results else part
                total = part if total is None else add_tangents(total, part)
        first = out[0] if prim.multiple_results else out
        total = zero_tangent(first) if total is None else total
        if prim.multiple_results:
            return out, [total, *(zero_tangent(x) for x in out[1:])]
        return out, total

    @prim.transpose
    def transpose_rule(ct: Any, *operands: Operand, **params: Param) -> list[Cotangent | None]:
        ct = ct[0] if prim.multiple_results else ct
        (place,) = [k for k, x in enumerate(operands) if is_linear(x)]
        aval = aval_of(operands[place])
        if isinstance(ct, Zero):
            operand_ct: Any = Zero(aval.to_cotangent_aval())
        else:

            def of_one(x: Value) -> Value:
                out = program(*operands[:place], x, *operands[place + 1 :], **params)
                return out[0] if prim.multiple_results else out

            (operand_ct,) = linear_transpose(of_one, ShapeDtypeStruct(aval.shape, aval.dtype))(ct)
        return [operand_ct if k == place else None for k in range(len(operands))]
