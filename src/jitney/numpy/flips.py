"""Functions that reorder elements along axes: `flip`, `rot90`, `roll`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error, is_concrete
from jitney.core.typing import ArrayLike, Axis
from jitney.numpy import promotion
from jitney.primitives.array import concatenation, shape as lax_shape
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.elementwise import binary
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.dynamic_slice import dynamic_slice
from jitney.primitives.indexing.slice import slice as lax_slice

_INT32 = np.dtype(np.int32)


def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Reverses the order of the elements along axes.

    Args:
      m: an array.
      axis: an axis or a tuple of axes to reverse; all by default.

    Example:
      >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), axis=1)
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    promotion.check_arraylike("flip", m)
    return _flip(m, axis=axis if axis is None else _hashable(axis))


def _hashable(axis: Axis | Array | np.ndarray) -> Axis:
    if isinstance(axis, Array):
        axis = np.asarray(axis)  # raises for tracers
    known: Axis = axis.tolist() if isinstance(axis, np.ndarray) else axis
    return tuple(known) if isinstance(known, Sequence) else known


@jit_when_traced(name="_flip", static_argnames=("axis",))
def _flip(m: ArrayLike, axis: Axis = None) -> Array:
    m = as_value(m)
    dims = tuple(range(m.ndim)) if axis is None else canonical_axes(axis, m.ndim)
    return lax_shape.rev(m, dims) if dims else m


def fliplr(m: ArrayLike) -> Array:
    """Reverses the order of the elements along the second axis.

    Args:
      m: an array of rank 2 or more.

    Example:
      >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    promotion.check_arraylike("fliplr", m)
    return _flip(m, axis=1)


def flipud(m: ArrayLike) -> Array:
    """Reverses the order of the elements along the first axis.

    Args:
      m: an array of rank 1 or more.

    Example:
      >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    promotion.check_arraylike("flipud", m)
    return _flip(m, axis=0)


@jit_when_traced(static_argnames=("k", "axes"))
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotates `m` by `k` times 90 degrees in the plane of `axes`, from the first to the second.

    Args:
      m: an array of rank 2 or more.
      k: the number of rotations; negative for the opposite direction.
      axes: two different axes.

    Raises:
      ValueError: if the rank is less than 2, or if both axes are the same.

    Example:
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    m = promotion.ensure_arraylike("rot90", m)
    if m.ndim < 2:
        raise ValueError(
            f"jnp.rot90: `m` must have two or more axes, but it has shape {m.shape}, of rank {m.ndim}"
        )
    first, second = canonical_axes(axes, m.ndim)
    if first == second:
        raise ValueError(f"jnp.rot90: `axes` must be two different axes, but they are {axes}")
    k = k % 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, first), second)
    order = list(range(m.ndim))
    order[first], order[second] = second, first
    if k == 1:
        return lax_shape.transpose(flip(m, second), order)
    return flip(lax_shape.transpose(m, order), second)


def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: Axis = None) -> Array:
    """Shifts elements cyclically along `axis`: those shifted past the end reenter at the start.

    Args:
      a: an array.
      shift: the number of positions, one for each axis or one for all; it can be traced.
      axis: an axis or a tuple of axes; if None, the flattened array is rolled.

    Returns: an array of the shape of `a`.

    Example:
      >>> jnp.roll(jnp.arange(5), 2)
      Array([3, 4, 0, 1, 2], dtype=int32)
    """
    promotion.check_arraylike("roll", a)
    a = as_value(a)
    if axis is None:
        return lax_shape.reshape(roll(lax_shape.reshape(a, (a.size,)), shift, 0), a.shape)
    given: Any = _hashable(concrete_or_error(None, axis, "`axis` of jnp.roll must be static"))
    axes = canonical_axes(given, a.ndim)
    entries = shift if isinstance(shift, list | tuple) else (shift,)
    if all(is_concrete(s) for s in entries):
        shifts, at = np.broadcast_arrays(np.asarray(shift).ravel().astype(np.int64), axes)
        if not axes:
            return a
        return _roll_static(a, tuple(map(int, shifts)), tuple(map(int, at)))
    from jitney.numpy.creation import asarray

    return _roll_dynamic(a, asarray(shift), axes)


@jit_when_traced(name="_roll_static", static_argnums=(1, 2))
def _roll_static(a: Array, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    for shift, axis in zip(shifts, axes, strict=True):
        n = a.shape[axis]
        if n == 0:
            continue
        cut = -shift % n
        strides = (1,) * a.ndim
        low, high = [0] * a.ndim, list(a.shape)
        low[axis], high[axis] = cut, n
        tail = lax_slice(a, tuple(low), tuple(high), strides)
        low[axis], high[axis] = 0, cut
        head = lax_slice(a, tuple(low), tuple(high), strides)
        a = concatenation.concatenate([tail, head], axis)
    return a


@jit_when_traced(name="_roll_dynamic", static_argnums=(2,))
def _roll_dynamic(a: Array, shift: Array, axes: tuple[int, ...]) -> Array:
    from jitney.numpy.division import remainder

    count = max(len(axes), shift_size(shift))
    shifts = broadcast_in_dim(shift, (count,), tuple(range(shift.ndim)))
    if len(axes) == 1:
        axes = axes * count
    for one, axis in zip(concatenation.unstack(shifts), axes, strict=True):
        n = a.shape[axis]
        one = convert(one, _INT32)
        extent = binary.max(scalar_operand(n, _INT32, False), scalar_operand(1, _INT32, False))
        offset = remainder(one, extent)
        doubled = concatenation.concatenate([a, a], axis)
        starts: list[Any] = [scalar_operand(0, _INT32, False)] * a.ndim
        starts[axis] = binary.sub(scalar_operand(n, _INT32, False), offset)
        a = dynamic_slice(doubled, starts, a.shape)
    return a


def shift_size(shift: Array) -> int:
    """Returns the number of shifts in a scalar or an array of rank 1."""
    return shift.shape[0] if shift.ndim else 1


for _function in (flip, fliplr, flipud, roll, rot90):
    _function.__module__ = "jax.numpy"
