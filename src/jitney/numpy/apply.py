"""Functions applied along axes: `apply_along_axis`, `apply_over_axes`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jitney.core import pytrees
from jitney.numpy import util
from jitney.ops.join import stack
from jitney.ops.shape import canonical_axis, expand_dims, reshape, transpose


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d` applied to each one-dimensional slice of `arr` along `axis`.

    Args:
      func1d: takes an array of rank 1 and gives an array; `args` and `kwargs` are passed on.
      axis: the axis of the slices; the axes of the result of `func1d` come in its place.
      arr: an array.
    """
    util.check_arraylike("apply_along_axis", arr)
    arr = util.ensure_arraylike("apply_along_axis", arr)
    rank = arr.ndim
    axis = canonical_axis(axis, rank)
    others = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    order = (*range(axis), *range(axis + 1, rank), axis)
    rows = reshape(transpose(arr, order), (math.prod(others), arr.shape[axis]))
    results = [func1d(row, *args, **kwargs) for row in rows]
    if not results:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")

    def joined(*parts: Any) -> Any:
        out = stack([util.ensure_arraylike("apply_along_axis", p) for p in parts])
        out = reshape(out, (*others, *out.shape[1:]))
        new = out.ndim - len(others)
        before, after = range(axis), range(axis, len(others))
        return transpose(out, (*before, *range(len(others), len(others) + new), *after))

    return pytrees.tree_map(joined, *results)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """`func(a, axis)` applied for each of `axes` in turn; axes that it removes are put back.

    Raises:
      ValueError: if a result has not the rank of `a`, nor one less.
    """
    a = util.ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        b = func(a, axis)
        if b.ndim == a.ndim:
            a = b
        elif b.ndim == a.ndim - 1:
            a = expand_dims(b, (axis,))
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return a
