"""Conversions to and from dtypes whose tangents have another dtype, which keep all bits.

`jax.experimental.primal_tangent_dtype` creates such dtypes, for example integers that represent
quantized floats. Values of these dtypes can be moved, and converted back by
`lax.convert_element_type`. They do not support arithmetic; their meaning is defined by users' rules
only (`jax.custom_vjp`). Cotangents have the dtype of tangents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.types.extended_dtypes import PrimalTangentDType
from jitney.primitives import calculus, rules
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Array, DTypeLike
    from jitney.primitives.rule_types import Builder, Node, Primals, Tangent, Tangents, Value

to_edtype_p = declare("to_edtype")
from_edtype_p = declare("from_edtype")


@to_edtype_p.abstract
def _to_edtype_abstract(x: ShapedArray, *, edtype: PrimalTangentDType) -> ShapedArray:
    if x.dtype != edtype.physical:
        raise ValueError(
            f"convert_element_type: only {edtype.physical}, its physical dtype, can be converted to "
            f"{edtype}, not {dtypes.long_name(x.dtype)}: convert to {edtype.physical} first"
        )
    return shaped_array(x.shape, edtype)


@from_edtype_p.abstract
def _from_edtype_abstract(x: ShapedArray, *, dtype: np.dtype) -> ShapedArray:
    if dtypes.physical_dtype(x.dtype) != dtype:
        raise ValueError(
            f"convert_element_type: {x.dtype} can be converted only to "
            f"{dtypes.physical_dtype(x.dtype)}, its physical dtype, not to "
            f"{dtypes.long_name(dtype)}: convert to {dtypes.physical_dtype(x.dtype)} first"
        )
    return shaped_array(x.shape, dtype)


def _moves_numbers(prim: Primitive) -> None:
    """Sets the rules that `to_edtype` and `from_edtype` share.

    Elements stay unchanged; tangents are converted to the tangent dtype of the result.
    """

    @prim.eager
    def eager_rule(x: np.ndarray, **_: object) -> np.ndarray:
        return x

    @prim.lower
    def lower_rule(b: Builder, x: Node, **_: object) -> Node:
        return x

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: object) -> tuple[Value, Tangent]:
        out = prim.bind(*primals, **params)
        kind = rules.aval_of(out).to_tangent_aval().dtype
        if isinstance(tangents[0], Zero) or kind == dtypes.float0:
            return out, rules.zero_tangent(out)
        return out, calculus.convert_element_type(tangents[0], new_dtype=kind)

    prim.absent("transpose", why="tangents have the physical dtype already")
    rules.vectorized(prim)


_moves_numbers(to_edtype_p)
_moves_numbers(from_edtype_p)


def convert(x: Array, dtype: DType) -> Array:
    """Converts `x` to `dtype`, where one of the two dtypes is a `PrimalTangentDType`.

    Raises:
      ValueError: if the other dtype is not its primal dtype.
    """
    if isinstance(dtype, PrimalTangentDType):
        return to_edtype_p.bind(x, edtype=dtype)
    return from_edtype_p.bind(x, dtype=dtype)


def primal_tangent_dtype(
    primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None
) -> PrimalTangentDType:
    """Returns a dtype whose elements are stored in one dtype and whose tangents have another.

    Args:
      primal_dtype: dtype of the elements.
      tangent_dtype: dtype of tangents and cotangents.
      name: name of the dtype in printed programs; by default it is made from both dtypes.

    Example:
      >>> jax.experimental.primal_tangent_dtype("int8", "bfloat16")
      PrimalTangentDType{i8/bf16}
    """
    primal, tangent = np.dtype(primal_dtype), np.dtype(tangent_dtype)
    shown = f"{dtypes.short_name(primal)}/{dtypes.short_name(tangent)}"
    return PrimalTangentDType(primal, tangent, name or f"PrimalTangentDType{{{shown}}}")
