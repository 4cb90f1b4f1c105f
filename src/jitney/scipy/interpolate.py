"""`jax.scipy.interpolate`: interpolation on regular grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.tracing.trace import is_concrete
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import check_arraylike, is_inexact, promote_dtypes_inexact

__dir__ = listing(__name__)

_METHODS = ("linear", "nearest")


def _unknown(method: object) -> str:
    return f"RegularGridInterpolator: `method` must be one of {_METHODS}, but got {method!r}"


class RegularGridInterpolator:
    """An interpolator of values on a rectilinear grid.

    Args:
      points: coordinates of the grid along each of its n axes: n strictly ascending vectors.
      values: values at the grid points; the first n axes have the lengths of the vectors.
      method: "linear" or "nearest".
      bounds_error: must be False.
      fill_value: value returned outside the grid; None to extrapolate.

    Raises:
      ValueError: if the method is unknown, shapes do not match, or coordinates do not ascend.
      NotImplementedError: if `bounds_error` is set.

    Example:
      >>> grid = (jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0]))
      >>> at = jax.scipy.interpolate.RegularGridInterpolator(grid, jnp.array([[0.0, 2.0], [4.0, 6.0]]))
      >>> at(jnp.array([[0.5, 1.0]]))
      Array([3.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: float | None = np.nan,
    ) -> None:
        if method not in _METHODS:
            raise ValueError(_unknown(method))
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error=True is not supported")
        check_arraylike("RegularGridInterpolator", values, *points)
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.values = jnp.asarray(values)
        if not is_inexact(self.values.dtype):
            self.values = jnp.asarray(promote_dtypes_inexact(self.values)[0])
        if len(points) > self.values.ndim:
            raise ValueError(
                "RegularGridInterpolator: `points` must have at most one array for each axis of "
                f"`values`, of shape {self.values.shape}, but it has {len(points)}"
            )
        self.grid = tuple([jnp.asarray(p) for p in points])
        for axis, p in enumerate(self.grid):
            if p.ndim != 1:
                raise ValueError(
                    f"RegularGridInterpolator: the points in dimension {axis} must be a vector, but "
                    f"they have shape {p.shape}"
                )
            if self.values.shape[axis] != p.shape[0]:
                raise ValueError(
                    f"RegularGridInterpolator: `points` and `values` must have equal lengths in "
                    f"dimension {axis}, but got {p.shape[0]} and {self.values.shape[axis]}"
                )
            if is_concrete(p) and np.any(np.diff(np.asarray(p)) <= 0):
                raise ValueError(
                    f"RegularGridInterpolator: the points in dimension {axis} must be strictly "
                    "ascending"
                )

    def __call__(self, xi: ArrayLike | Sequence[ArrayLike], method: str | None = None) -> Array:
        """Interpolates at points [..., n], or at a tuple of n coordinate arrays that broadcast.

        Raises:
          ValueError: if the method is unknown, or the points do not have n coordinates.
        """
        method = self.method if method is None else method
        if method not in _METHODS:
            raise ValueError(_unknown(method))
        count = len(self.grid)
        if isinstance(xi, tuple):
            places = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        else:
            places = jnp.asarray(xi)
            places = places[:, None] if places.ndim == 1 and count == 1 else places
        if places.shape[-1:] != (count,):
            raise ValueError(
                f"RegularGridInterpolator: points must have {count} coordinates along the last axis, "
                f"but got an array of shape {places.shape}"
            )
        shape = places.shape[:-1]
        flat = places.reshape(-1, count)
        if not is_inexact(flat.dtype):
            flat = flat.astype(self.values.dtype)
        cells = [self._cell(x, p) for x, p in zip(flat.T, self.grid, strict=True)]
        result = self._linear(cells) if method == "linear" else self._nearest(cells)
        if self.fill_value is not None:
            outside = jnp.zeros(flat.shape[0], bool)
            for x, p in zip(flat.T, self.grid, strict=True):
                outside = outside | (x < p[0]) | (x > p[-1])
            outside = outside.reshape(-1, *(1,) * (result.ndim - 1))
            result = jnp.where(outside, jnp.asarray(self.fill_value, result.dtype), result)
        return result.reshape(*shape, *self.values.shape[count:])

    def _cell(self, x: Array, p: Array) -> tuple[Array, Array]:
        """Returns the index of the cell that contains `x`, and the position within it, 0 to 1.

        Outside the grid, the position is relative to the outermost cell: below 0 or above 1.
        """
        if p.shape[0] == 1:
            return jnp.zeros(x.shape, np.int32), jnp.zeros_like(x)
        index = jnp.clip(jnp.searchsorted(p, x, side="right") - 1, 0, p.shape[0] - 2)
        return index, (x - p[index]) / (p[index + 1] - p[index])

    def _linear(self, cells: list[tuple[Array, Array]]) -> Array:
        total: Array | None = None
        for corner in itertools.product((0, 1), repeat=len(cells)):
            last = [size - 1 for size in self.values.shape]
            index = [
                jnp.minimum(i + up, end)
                for (i, _), up, end in zip(cells, corner, last, strict=False)
            ]
            term = self.values[tuple(index)]
            weight = jnp.ones((), cells[0][1].dtype)
            for (_, position), up in zip(cells, corner, strict=True):
                weight = weight * (position if up else 1 - position)
            term = term * weight.reshape(-1, *(1,) * (term.ndim - 1)).astype(term.dtype)
            total = term if total is None else total + term
        assert total is not None
        return total

    def _nearest(self, cells: list[tuple[Array, Array]]) -> Array:
        # The nearer end of the cell; the lower one at its center.
        return self.values[tuple([i + (position > 0.5) for i, position in cells])]
