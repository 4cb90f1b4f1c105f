"""Objects that construct arrays by indexing: `s_`, `index_exp`, `r_`, `c_`, `mgrid`, `ogrid`.

A slice start:stop:step stands for `arange(start, stop, step)`; with an imaginary step n * 1j it
stands for `linspace(start, stop, n)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import creation, joining, ranges, triangular
from jitney.primitives.elementwise.convert import convert

# NumPy's objects, which only return the index.
s_ = np.s_
index_exp = np.index_exp


def _slice_to_array(s: slice, of: str) -> Array:
    """Returns the array of rank 1 that a slice stands for in an index of the object named `of`."""

    def known(part: str, value: object) -> complex:
        number: Any = concrete_or_error(None, value, f"slice {part} of jnp.{of}")
        return number

    start = 0 if s.start is None else known("start", s.start)
    step = 1 if s.step is None else known("step", s.step)
    s = slice(start, None if s.stop is None else known("stop", s.stop), step)
    if s.stop is None:
        return ranges.arange(start, None, step)  # as in JAX, a lone start is the stop
    if np.iscomplexobj(step):
        return ranges.linspace(start, s.stop, int(abs(step)))
    return ranges.arange(start, s.stop, step)


class _Grid:
    """A grid of coordinates, which is indexed by slices."""

    _sparse: bool
    _name: str

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Array | list[Array]:
        if isinstance(key, slice):
            return _slice_to_array(key, self._name)
        axes = [_slice_to_array(s, self._name) for s in key]
        common = _promoted(axes)
        return self._combined(triangular.meshgrid(*common, indexing="ij", sparse=self._sparse))

    def _combined(self, grids: Sequence[Any]) -> Array | list[Array]:
        raise NotImplementedError(type(self).__name__)


def _promoted(axes: list[Any]) -> list[Array]:
    if not axes:
        return []
    common = dtypes.wider(*[x.dtype for x in axes])
    return [convert(x, common) for x in axes]


class _Mgrid(_Grid):
    """A dense grid of coordinates: `mgrid[0:2, 0:3]` consists of two arrays of shape (2, 3).

    Example:
      >>> rows, columns = jnp.mgrid[0:2, 0:3]
      >>> columns
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """

    _sparse = False
    _name = "mgrid"

    def _combined(self, grids: Sequence[Any]) -> Array | list[Array]:
        return joining.stack(grids, 0) if grids else creation.array([], int)


class _Ogrid(_Grid):
    """An open grid of coordinates: a list of arrays that broadcast to the dense grid.

    Example:
      >>> rows, columns = jnp.ogrid[1:4, 1:4]
      >>> rows * columns
      Array([[1, 2, 3],
             [2, 4, 6],
             [3, 6, 9]], dtype=int32)
    """

    _sparse = True
    _name = "ogrid"

    def _combined(self, grids: Sequence[Any]) -> Array | list[Array]:
        return list(grids)


class _Concatenator:
    """An object that joins the arrays, scalars and slices by which it is indexed.

    The first item can be a string of up to three integers "axis,rank,start": the axis along which
    to join, the minimum rank of the operands, and the position at which the axes of operands of
    lower rank are placed. With "r" or "c", a result of rank 1 becomes a matrix of one row or one
    column.
    """

    axis: int
    ndmin: int
    trans1d: int
    op_name: str

    def __getitem__(self, key: slice | tuple[Any, ...]) -> Array | list[Array]:
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d, matrix = self.axis, self.ndmin, self.trans1d, None
        if items and isinstance(items[0], str):
            directive, items = items[0], items[1:]
            if directive in ("r", "c"):
                matrix = directive
            else:
                axis, ndmin, trans1d = self._parsed(directive)
        parts = [self._part(x, ndmin, trans1d) for x in items]
        out = joining.concatenate(parts, axis=axis)
        if matrix is not None and out.ndim <= 1:
            out = out.reshape((1, -1) if matrix == "r" else (-1, 1))
        return out

    def _parsed(self, directive: str) -> tuple[int, int, int]:
        numbers = directive.split(",")
        try:
            values = [int(n) for n in numbers]
        except ValueError:
            values = []
        if not 1 <= len(values) <= 3:
            raise ValueError(
                f"jnp.{self.op_name}: a directive must be 'r', 'c' or a string of up to three "
                f"integers, such as '0,2,1', but it is {directive!r}"
            )
        defaults = [self.axis, self.ndmin, self.trans1d]
        axis, ndmin, trans1d = values + defaults[len(values) :]
        return axis, ndmin, trans1d

    def _part(self, x: slice[Any, Any, Any] | ArrayLike | str, ndmin: int, trans1d: int) -> Array:
        if isinstance(x, str):
            raise ValueError(
                f"jnp.{self.op_name}: a directive must be the first item, but {x!r} comes later"
            )
        part = _slice_to_array(x, self.op_name) if isinstance(x, slice) else creation.asarray(x)
        rank = part.ndim
        is_scalar = rank == 0 and not isinstance(x, slice)
        part = creation.array(part, copy=False, ndmin=max(ndmin, 1))
        if is_scalar or trans1d == -1 or rank >= ndmin:
            return part
        # The operand's axes start at position `trans1d`, which is counted from the end if negative.
        new = ndmin - rank
        first = trans1d if trans1d >= 0 else new + 1 + trans1d
        order = list(range(new))
        order[first:first] = range(new, ndmin)
        return part.transpose(tuple(order))


class RClass(_Concatenator):
    """Joins items along the first axis: `r_[0:3, 7]` is [0, 1, 2, 7].

    Example:
      >>> jnp.r_[jnp.zeros(2), 0.25:1:0.25, 9]
      Array([0.  , 0.  , 0.25, 0.5 , 0.75, 9.  ], dtype=float32)
    """

    axis = 0
    ndmin = 1
    trans1d = -1
    op_name = "r_"


class CClass(_Concatenator):
    """Joins items along the last axis; items of rank 1 become columns: `c_[x, y]` has two columns.

    Example:
      >>> jnp.c_[jnp.array([1, 2]), jnp.array([3, 4])]
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """

    axis = -1
    ndmin = 2
    trans1d = 0
    op_name = "c_"


r_ = RClass()
c_ = CClass()
mgrid = _Mgrid()
ogrid = _Ogrid()
