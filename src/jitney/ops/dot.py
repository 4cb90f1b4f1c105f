"""Contractions: `dot_general` and its simple cases."""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.numerics import contraction
from jitney.core import dtypes, text
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.jaxpr import JaxprEqn
from jitney.core.primitive import declare
from jitney.ops import kit
from jitney.ops.shape import shape_of

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Precision(enum.Enum):
    """How exactly a contraction is computed; on a CPU always as exactly as its dtype allows."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISIONS = {
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST, "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH, "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT, "fastest": Precision.DEFAULT,
}  # fmt: skip


def canonical_precision(precision: Any) -> Any:
    """None, or a pair of `Precision`.

    Raises:
      ValueError: if `precision` names none.
    """
    if precision is None:
        return None
    if isinstance(precision, str) and precision in _PRECISIONS:
        return (_PRECISIONS[precision],) * 2
    if isinstance(precision, Precision):
        return (precision, precision)
    if isinstance(precision, list | tuple) and len(precision) == 2:
        pair = [_PRECISIONS.get(p, p) if isinstance(p, str) else p for p in precision]
        if all(isinstance(p, Precision) or p is None for p in pair):
            return tuple(Precision.DEFAULT if p is None else p for p in pair)
    raise ValueError(
        "Precision argument must be None, a string in "
        f"{list(_PRECISIONS)}, a lax.Precision value or a tuple of two lax.Precision values or "
        f"strings; got {precision!r}."
    )


dot_general_p = declare("dot_general")


def _check_axes(side: str, kind: str, axes: Sequence[int], ndim: int) -> None:
    if len(set(axes)) != len(axes):
        raise TypeError(
            f"dot_general requires {side} {kind} dimensions to be distinct, got "
            f"{side}_{kind} {tuple(axes)}."
        )
    if not all(0 <= a < ndim for a in axes):
        raise TypeError(
            f"dot_general requires {side} {kind} dimensions to be nonnegative and less than the "
            f"number of axes of the {side} value, got {side}_{kind} {tuple(axes)} for {side} of "
            f"rank {ndim}"
        )


@dot_general_p.abstract
def _(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> ShapedArray:
    (cx, cy), (bx, by) = dimension_numbers
    if len(cx) != len(cy):
        raise TypeError(
            "dot_general requires equal numbers of lhs and rhs contracting dimensions, got "
            f"lhs_contracting {tuple(cx)} and rhs_contracting {tuple(cy)}."
        )
    if len(bx) != len(by):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, got "
            f"lhs_batch {tuple(bx)} and rhs_batch {tuple(by)}."
        )
    for side, aval, contracting, batch in (("lhs", x, cx, bx), ("rhs", y, cy, by)):
        _check_axes(side, "contracting", contracting, aval.ndim)
        _check_axes(side, "batch", batch, aval.ndim)
        if set(contracting) & set(batch):
            raise TypeError(
                f"dot_general requires {side} batch dimensions to be disjoint from contracting "
                f"dimensions, got {side}_batch {tuple(batch)} and {side}_contracting "
                f"{tuple(contracting)}."
            )
    for kind, px, py in (("batch", bx, by), ("contracting", cx, cy)):
        left, right = tuple(x.shape[k] for k in px), tuple(y.shape[k] for k in py)
        if left != right:
            raise TypeError(
                f"dot_general requires {kind} dimensions to have the same shape, got {left} and "
                f"{right}."
            )
    dtype = _result_dtype(x, y, preferred_element_type)
    shape = (
        *[x.shape[k] for k in bx],
        *[n for k, n in enumerate(x.shape) if k not in cx and k not in bx],
        *[n for k, n in enumerate(y.shape) if k not in cy and k not in by],
    )
    weak = x.weak_type and y.weak_type and preferred_element_type is None
    return shaped_array(shape, dtype, weak)


def _result_dtype(x: ShapedArray, y: ShapedArray, preferred: Any) -> Any:
    for aval in (x, y):
        kit.check_dtype("dot_general", aval.dtype, (*(kit.NUMERIC or ()), np.bool_))
    if preferred is None:
        if x.dtype != y.dtype:
            return dtypes.promote_types(x.dtype, y.dtype)
        return x.dtype
    return np.dtype(preferred)


def _dtypes(x: Any, y: Any, preferred: Any) -> tuple[np.dtype, np.dtype]:
    """(dtype of the contraction, dtype of the result)."""
    common = x.dtype if x.dtype == y.dtype else dtypes.promote_types(x.dtype, y.dtype)
    if preferred is None or np.dtype(preferred) == common:
        return common, common
    result = np.dtype(preferred)
    wide = dtypes.promote_types(common, result)
    return wide, result


@dot_general_p.eager
def _(
    x: np.ndarray,
    y: np.ndarray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> np.ndarray:
    contract, batch = dimension_numbers
    wide, result = _dtypes(x, y, preferred_element_type)
    value = contraction.dot(x, y, contract, batch, wide)
    return value if wide == result else contraction.scalar.convert(value, result)


@dot_general_p.lower
def _(
    b: Any,
    x: Any,
    y: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> Any:
    (cx, cy), (bx, by) = dimension_numbers
    wide, result = _dtypes(x, y, preferred_element_type)
    contract = tuple(map(int, cx)), tuple(map(int, cy))
    batch = tuple(map(int, bx)), tuple(map(int, by))
    return b.convert(b.dot(x, y, contract, batch, wide), result)


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Sum of products over paired axes.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: ((contracting axes of lhs, of rhs), (batch axes of lhs, of rhs)).
      precision: accepted for compatibility.
      preferred_element_type: dtype of accumulation and result.

    Returns: an array with the batch axes first, then the free axes of lhs, then those of rhs.
    """
    (cx, cy), (bx, by) = dimension_numbers
    numbers = (
        (_ints(cx), _ints(cy)),
        (_ints(bx), _ints(by)),
    )
    if preferred_element_type is not None:
        dtypes.check_user_dtype_supported(preferred_element_type, "dot_general")
        preferred_element_type = dtypes.canonicalize_dtype(preferred_element_type)
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def _ints(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([operator.index(a) for a in axes])


def dot(
    lhs: Any,
    rhs: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    dimension_numbers: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Product of vectors or matrices; with `dimension_numbers`, `dot_general`."""
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    left, right = shape_of(lhs), shape_of(rhs)
    if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
        raise ValueError(
            "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched "
            "matrix-matrix, matrix-vector, or vector-vector products; got "
            f"lhs_shape={left} rhs_shape={right}"
        )
    numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Products of matrices in the last two axes, for each index of the leading ones."""
    left, right = shape_of(lhs), shape_of(rhs)
    if len(left) < 2 or len(right) < 2:
        raise ValueError(
            f"Arguments to batch_matmul must be at least 2D, got {len(left)}, {len(right)}"
        )
    if len(left) != len(right):
        raise ValueError(
            f"Arguments to batch_matmul must have same ndim, got {len(left)}, {len(right)}"
        )
    rank = len(left)
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)


def _print_dot(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    contract, batch = params["dimension_numbers"]
    numbers = tuple(tuple(list(axes) for axes in pair) for pair in (contract, batch))
    shown: list[tuple[str, Any]] = [("dimension_numbers", numbers)]
    for name in ("precision", "preferred_element_type", "out_sharding"):
        if params[name] is not None:
            shown.append((name, params[name]))
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["dot_general"] = _print_dot

kit.later(dot_general_p)
