"""`scaled_dot`: contractions of narrow floats with blockwise scales.

Formats such as MXFP8 store a few bits for each element, and a scale for each block of adjacent
elements along the contracted axes. As in JAX, scaled elements are rounded to bfloat16 and then
contracted.

Source: Open Compute Project, OCP Microscaling Formats (MX) Specification, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import full
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.binary import mul
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.linalg.dot import DotDimensionNumbers, dot_general, dot_type
from jitney.primitives.traced import lower_by

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike
    from jitney.primitives.rule_types import Dims, Value

_BFLOAT16 = np.dtype(dtypes.bfloat16)
_LEAST_BLOCK = 2  # the smallest number of elements that share a scale

scaled_dot_p = declare("scaled_dot")


def _check_scale(side: str, x: ShapedArray, scale: ShapedArray, contracting: Sequence[int]) -> None:
    """Raises TypeError unless `scale` has one element for each block of x along contracted axes."""
    if scale.ndim != x.ndim:
        raise TypeError(
            f"scaled_dot: {side} and its scale must have the same rank, but their types are "
            f"{x.str_short()} and {scale.str_short()}"
        )
    for axis, (n, m) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if axis not in contracting and n != m:
            raise TypeError(
                f"scaled_dot: axis {axis} of {side} is not contracted, so its scale must have the same "
                f"size {n}, but has {m}"
            )
        if axis in contracting and (m == 0 or n % m or n // m < _LEAST_BLOCK):
            raise TypeError(
                f"scaled_dot: axis {axis} of {side} has size {n}, which must be a multiple (at "
                f"least twice) of the size of its scale along that axis, {m}"
            )


@scaled_dot_p.abstract
def _scaled_dot_abstract(
    x: ShapedArray,
    y: ShapedArray,
    x_scale: ShapedArray,
    y_scale: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
) -> ShapedArray:
    (cx, cy), _ = dimension_numbers
    if x.ndim != y.ndim:
        raise TypeError(
            f"scaled_dot: operands must have the same rank, but are {x.str_short()} and "
            f"{y.str_short()}"
        )
    _check_scale("lhs", x, x_scale, cx)
    _check_scale("rhs", y, y_scale, cy)
    out = dot_type(
        x.update(dtype=_BFLOAT16), y.update(dtype=_BFLOAT16), dimension_numbers=dimension_numbers,
        precision=None, preferred_element_type=preferred_element_type, out_sharding=None,
    )  # fmt: skip
    return shaped_array(out.shape, preferred_element_type or _BFLOAT16)


def _repeated(scale: Array, shape: Sequence[int]) -> Array:
    """Repeats each element of `scale` over its block, up to `shape`."""
    own = shape_of(scale)
    split = [m for n, k in zip(shape, own, strict=True) for m in (k, n // k if k else 1)]
    return reshape(broadcast_in_dim(scale, split, range(0, len(split), 2)), shape)


def _scaled(x: Array, scale: Array) -> Array:
    scale = convert_element_type(scale, _BFLOAT16)
    return mul(convert_element_type(x, _BFLOAT16), _repeated(scale, shape_of(x)))


def _computed(
    x: Array,
    y: Array,
    x_scale: Array,
    y_scale: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
) -> list[Array]:
    left, right = _scaled(x, x_scale), _scaled(y, y_scale)
    out = dot_general(left, right, dimension_numbers, None, preferred_element_type or _BFLOAT16)
    return [out]


lower_by(scaled_dot_p, _computed)
scaled_dot_p.absent(
    "jvp", "transpose", why="it rounds to few bits; it has no derivative in JAX, either"
)


@scaled_dot_p.batch
def _scaled_dot_batch(
    args: Sequence[Value], dims: Dims, *, dimension_numbers: DotDimensionNumbers, **params: object
) -> tuple[Value, int]:
    size = rules.batch_size(args, dims)
    front = [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]
    (cx, cy), (bx, by) = [[[k + 1 for k in axes] for axes in pair] for pair in dimension_numbers]
    numbers = (tuple(cx), tuple(cy)), ((0, *bx), (0, *by))
    return scaled_dot_p.bind(*front, dimension_numbers=numbers, **params), 0


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the contraction of lhs * lhs_scale and rhs * rhs_scale, both rounded to bfloat16.

    Args:
      lhs: array with at least two axes and any dtype, usually a narrow float.
      rhs: array of the same rank.
      lhs_scale: array with the shape of lhs, except along contracted axes, where the size of lhs is
        a multiple (at least twice) of the size of the scale. Each element scales a block of
        adjacent elements. By default, elements are not scaled.
      rhs_scale: the scale of rhs, likewise.
      dimension_numbers: as for `dot_general`. By default, matrices are multiplied, and the axes
        before the last two axes are batch axes.
      preferred_element_type: dtype of accumulation and of the result; bfloat16 by default.

    Raises:
      TypeError: if shapes are incompatible.

    As in JAX, the function has no derivative.

    Example:
      >>> x, y = jnp.ones((1, 4), jnp.float8_e4m3fn), jnp.ones((4, 1), jnp.float8_e4m3fn)
      >>> scale = jnp.array([[0.5, 4.0]], jnp.float8_e8m0fnu)
      >>> lax.scaled_dot(x, y, lhs_scale=scale)
      Array([[9]], dtype=bfloat16)
    """
    families.check_operands("scaled_dot", lhs, rhs)
    if dimension_numbers is None:
        rank = len(shape_of(lhs))
        if rank < 2:
            raise TypeError(f"scaled_dot: operands must have at least two axes, but lhs has {rank}")
        batch = tuple(range(rank - 2))
        dimension_numbers = ((rank - 1,), (rank - 2,)), (batch, batch)
    (cx, cy), _ = dimension_numbers
    lhs_scale = _ones(lhs, cx) if lhs_scale is None else lhs_scale
    rhs_scale = _ones(rhs, cy) if rhs_scale is None else rhs_scale
    preferred = _BFLOAT16 if preferred_element_type is None else preferred_element_type
    dtypes.check_user_dtype_supported(preferred, "scaled_dot")
    return scaled_dot_p.bind(
        lhs,
        rhs,
        lhs_scale,
        rhs_scale,
        dimension_numbers=dimension_numbers,
        preferred_element_type=dtypes.requested_dtype(preferred),
    )


def _ones(x: ArrayLike, contracting: Sequence[int]) -> Array:
    """Returns a scale of 1 for all elements of x."""
    shape = [1 if k in contracting else n for k, n in enumerate(shape_of(x))]
    return convert_element_type(full(shape, 1, _BFLOAT16), dtypes.float8_e8m0fnu)
