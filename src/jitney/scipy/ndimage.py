"""`jax.scipy.ndimage`: interpolation of arrays at fractional coordinates."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import is_integer

__dir__ = listing(__name__)


def _mirror(index: Array, size: int) -> Array:
    """Reflects indices about the centers of the first and the last element."""
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last) if last else jnp.zeros_like(index)


def _reflect(index: Array, size: int) -> Array:
    """Reflects indices about the outer edges of the first and the last element."""
    return _mirror(2 * index + 1, 2 * size + 1) // 2


# Mode -> index of the element that an out-of-bounds index refers to.
_INDEX: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}

_Node = tuple[Array, "Array | float"]


def _nearest_node(coordinate: Array) -> list[_Node]:
    if is_integer(coordinate.dtype):
        return [(coordinate, 1.0)]
    nearest = lax.round(coordinate, lax.RoundingMethod.AWAY_FROM_ZERO)
    return [(nearest.astype(np.int32), 1.0)]


def _linear_nodes(coordinate: Array) -> list[_Node]:
    lower = jnp.floor(coordinate)
    upper = coordinate - lower
    index = lower.astype(np.int32)
    return [(index, 1 - upper), (index + 1, upper)]


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Interpolates `input` at the given coordinates.

    Args:
      input: array of n axes.
      coordinates: n arrays of equal shape, in units of elements.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: how `input` is extended beyond its edges: "constant" (by `cval`), "nearest", "wrap",
        "mirror" (about the centers of the outermost elements) or "reflect" (about their edges).
      cval: value beyond the edges in mode "constant".

    Returns: array of the shape of the coordinates and the dtype of `input`; for integer dtypes the
      results are rounded.

    Raises:
      NotImplementedError: if `order` or `mode` is not one of these.
      ValueError: if the number of coordinate arrays is not n.

    Example:
      >>> image = jnp.array([[0.0, 2.0], [4.0, 6.0]])
      >>> diagonal = jnp.linspace(0.0, 1.0, 3)
      >>> jax.scipy.ndimage.map_coordinates(image, [diagonal, diagonal], order=1)
      Array([0., 3., 6.], dtype=float32)
    """
    return _map_coordinates(input, coordinates, order=operator.index(order), mode=mode, cval=cval)


@partial(jit_when_traced, static_argnames=("order", "mode"))
def _map_coordinates(
    input: ArrayLike, coordinates: Sequence[ArrayLike], *, order: int, mode: str, cval: ArrayLike
) -> Array:
    x = jnp.asarray(input)
    places = [jnp.asarray(c) for c in coordinates]
    if len(places) != x.ndim:
        raise ValueError(
            "map_coordinates: `coordinates` must hold one array for each axis of `input`, which has "
            f"{messages.counted(x.ndim, 'axis')}, but holds {len(places)}"
        )
    if mode not in _INDEX:
        raise NotImplementedError(
            f"map_coordinates: mode must be one of {', '.join(_INDEX)}, but got {mode!r}"
        )
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates: order must be 0 or 1, but got {order}")
    outside = jnp.asarray(cval, x.dtype)
    nodes = _nearest_node if order == 0 else _linear_nodes
    by_axis = [
        [
            (_INDEX[mode](index, size), (index >= 0) & (index < size), weight)
            for index, weight in nodes(place)
        ]
        for place, size in zip(places, x.shape, strict=True)
    ]
    total: Array | None = None
    for corner in itertools.product(*by_axis):
        term = x[tuple([index for index, _, _ in corner])]
        if mode == "constant":
            inside = math.prod([valid for _, valid, _ in corner[1:]], start=corner[0][1])
            term = jnp.where(inside, term, outside)
        for _, _, weight in corner:
            term = term * weight
        total = term if total is None else total + term
    if total is None:  # `input` is a scalar
        return x
    if is_integer(x.dtype) and not is_integer(total.dtype):
        total = lax.round(total, lax.RoundingMethod.AWAY_FROM_ZERO)
    return total.astype(x.dtype)


publish(globals())
