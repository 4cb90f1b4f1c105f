"""Functions applied along axes: `apply_along_axis`, `apply_over_axes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.vmap import vmap
from jitney.core.typing import Array, ArrayLike, PyTree
from jitney.numpy import promotion
from jitney.primitives.array.shape import canonical_axis, expand_dims


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: PyTree, **kwargs: PyTree
) -> Array:
    """`func1d` applied to each one-dimensional slice of `arr` along `axis`, to all at once by `vmap`.

    Args:
      func1d: takes an array of rank 1 and gives arrays; `args` and `kwargs` are passed on.
      axis: the axis of the slices; the axes of the result of `func1d` come in its place.
      arr: an array.
    """
    promotion.check_arraylike("apply_along_axis", arr)
    arr = promotion.ensure_arraylike("apply_along_axis", arr)
    axis = canonical_axis(axis, arr.ndim)

    def function(row: Array) -> PyTree:
        return func1d(row, *args, **kwargs)

    for place in range(1, arr.ndim - axis):
        function = vmap(function, in_axes=place, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(arr)


def apply_over_axes(
    func: Callable[[Array, int], Array], a: ArrayLike, axes: Sequence[int]
) -> Array:
    """`func(a, axis)` applied for each of `axes` in turn; axes that it removes are put back.

    Raises:
      ValueError: if a result has not the rank of `a`, nor one less.
    """
    x = promotion.ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        y = func(x, axis)
        if y.ndim == x.ndim:
            x = y
        elif y.ndim == x.ndim - 1:
            x = expand_dims(y, (axis,))
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return x
