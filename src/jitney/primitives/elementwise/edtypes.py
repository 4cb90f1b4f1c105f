"""Numbers as values of a dtype whose derivatives are of another dtype, and back: the same numbers.

`jax.experimental.primal_tangent_dtype` makes such dtypes: integers, say, that stand for quantised
floats. Values of them can be moved, and taken back by `lax.convert_element_type`; arithmetic is none,
as users' rules alone say what they mean (`jax.custom_vjp`). Cotangents are of the dtype of tangents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.extended_dtypes import PrimalTangentDType
from jitney.core.primitive import Primitive, declare
from jitney.primitives import calculus, rules
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.dtypes import DType
    from jitney.core.typing import DTypeLike
    from jitney.primitives.rule_types import Builder, Node, Primals, Tangents, Value

to_edtype_p = declare("to_edtype")
from_edtype_p = declare("from_edtype")


@to_edtype_p.abstract
def _to_edtype_abstract(x: ShapedArray, *, edtype: PrimalTangentDType) -> ShapedArray:
    if x.dtype != edtype.physical:
        raise ValueError(
            f"convert_element_type: {edtype} is made from {edtype.physical}, its own numbers, not from "
            f"{dtypes.long_name(x.dtype)}: convert to {edtype.physical} first"
        )
    return shaped_array(x.shape, edtype)


@from_edtype_p.abstract
def _from_edtype_abstract(x: ShapedArray, *, dtype: np.dtype) -> ShapedArray:
    if dtypes.physical_dtype(x.dtype) != dtype:
        raise ValueError(
            f"convert_element_type: values of {x.dtype} become {dtypes.physical_dtype(x.dtype)}, their "
            f"own numbers, not {dtypes.long_name(dtype)}: convert from that on"
        )
    return shaped_array(x.shape, dtype)


def _moves_numbers(prim: Primitive) -> None:
    """The rules that both have: numbers stay as they are, tangents take the dtype of the result's."""

    @prim.eager
    def eager_rule(x: np.ndarray, **_: object) -> np.ndarray:
        return x

    @prim.lower
    def lower_rule(b: Builder, x: Node, **_: object) -> Any:
        return x

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: object) -> tuple[Any, Any]:
        out = prim.bind(*primals, **params)
        kind = rules.aval_of(out).to_tangent_aval().dtype
        if isinstance(tangents[0], Zero) or kind == dtypes.float0:
            return out, rules.zero_tangent(out)
        return out, calculus.convert_element_type(tangents[0], new_dtype=kind)

    prim.absent("transpose", why="tangents are numbers already: they are converted")
    rules.vectorized(prim)


_moves_numbers(to_edtype_p)
_moves_numbers(from_edtype_p)


def converted(x: Value, dtype: DType) -> Any:
    """`x`, an array, as `dtype`, if one of the dtypes is a `PrimalTangentDType`; None if neither is.

    Raises:
      ValueError: if the other one is not that of its numbers.
    """
    own = rules.aval_of(x).dtype
    if own == dtype:
        return x if isinstance(dtype, PrimalTangentDType) else None
    if isinstance(dtype, PrimalTangentDType):
        return to_edtype_p.bind(x, edtype=dtype)
    return from_edtype_p.bind(x, dtype=dtype) if isinstance(own, PrimalTangentDType) else None


def primal_tangent_dtype(
    primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None
) -> PrimalTangentDType:
    """Returns a dtype whose values are numbers of one dtype, and whose derivatives are of another.

    Args:
      primal_dtype: of the numbers.
      tangent_dtype: of tangents and cotangents.
      name: of the dtype, as texts show it.

    Example:
      >>> jax.experimental.primal_tangent_dtype("int8", "bfloat16")
      PrimalTangentDType{i8/bf16}
    """
    primal, tangent = np.dtype(primal_dtype), np.dtype(tangent_dtype)
    shown = f"{dtypes.short_name(primal)}/{dtypes.short_name(tangent)}"
    return PrimalTangentDType(primal, tangent, name or f"PrimalTangentDType{{{shown}}}")
