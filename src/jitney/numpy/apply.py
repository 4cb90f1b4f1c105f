"""Functions applied along axes: `apply_along_axis`, `apply_over_axes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.batching.vmap import vmap
from jitney.core.typing import Array, ArrayLike, PyTree
from jitney.numpy import promotion
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: PyTree, **kwargs: PyTree
) -> Array:
    """Applies `func1d` to all one-dimensional slices of `arr` along `axis` at once, by `vmap`.

    Args:
      func1d: a function of an array of rank 1 that returns arrays. It is traced once; NumPy calls
        it for each slice.
      axis: the axis of the slices.
      arr: an array.
      *args: further positional arguments of `func1d`.
      **kwargs: keyword arguments of `func1d`.

    Returns: the results; the axes of one result replace `axis`.

    Example:
      >>> jnp.apply_along_axis(lambda row: row - row.min(), 1, jnp.array([[3, 5], [9, 2]]))
      Array([[0, 2],
             [7, 0]], dtype=int32)
    """
    promotion.check_arraylike("apply_along_axis", arr)
    arr = promotion.ensure_arraylike("apply_along_axis", arr)
    axis = canonical_axis(axis, arr.ndim)

    def function(row: Array) -> Array:
        return func1d(row, *args, **kwargs)

    for place in range(1, arr.ndim - axis):
        function = vmap(function, in_axes=place, out_axes=-1)
    for _ in range(axis):
        function = vmap(function)
    return function(arr)


def apply_over_axes(
    func: Callable[[Array, int], Array], a: ArrayLike, axes: Sequence[int]
) -> Array:
    """Applies `func(a, axis)` for each of `axes` in sequence, and keeps the axes that it reduces.

    Args:
      func: a function of an array and an axis. It either keeps the rank of the array or reduces it
        by one.
      a: an array.
      axes: the axes, in the order in which they are processed.

    Returns: an array whose rank is that of `a`.

    Raises:
      ValueError: if the rank of a result is neither that of `a` nor one less.

    Example:
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2])
      Array([[[8.],
              [8.],
              [8.]]], dtype=float32)
    """
    x = promotion.ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        y = func(x, axis)
        if y.ndim == x.ndim:
            x = y
        elif y.ndim == x.ndim - 1:
            x = expand_dims(y, (axis,))
        else:
            raise ValueError(
                "jnp.apply_over_axes: `func` must keep the rank of its operand or reduce it by one, "
                f"but for an operand of shape {x.shape} and axis {axis} it returned shape {y.shape}"
            )
    return x


for _function in (apply_along_axis, apply_over_axes):
    _function.__module__ = "jax.numpy"
