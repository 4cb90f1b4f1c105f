"""The operations that transformations themselves apply; see `transforms.algebra`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.sharding.types import with_axis
from jitney.core.sharding_in_types.explicit import sharding_of
from jitney.core.tracing.hi_types import HiType
from jitney.core.tracing.pvary import as_type
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives import calculus
from jitney.primitives.array.broadcasting import broadcast_in_dim_p
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.binary import mul_p, sum_of_tangents
from jitney.primitives.rules import const, move_axis
from jitney.transforms.algebra import algebra

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import Value


def zeros(aval: AbstractValue) -> Value:
    """Returns zeros of type `aval`.

    A zero scalar is a NumPy scalar, or a Python scalar if `aval` is weakly typed; float0 zeros are
    NumPy arrays.
    """
    if isinstance(aval, HiType):
        hi_zero: Any = aval.vspace_zero()
        return hi_zero
    if aval.is_ref:  # references have no tangents, so this zero is never read
        return np.zeros((), dtypes.float0)
    assert isinstance(aval, ShapedArray), aval
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    scalar = np.zeros((), aval.dtype)
    zero: Value = scalar.item() if aval.weak_type else scalar[()]
    if aval.shape:
        zero = broadcast_in_dim_p.bind(
            zero, shape=aval.shape, broadcast_dimensions=(), sharding=sharding_of(aval)
        )
    return as_type(zero, aval.manual_axis_type) if aval.manual_axis_type else zero


def add(x: Value, y: Value) -> Value:
    """Adds two tangents or cotangents."""
    if getattr(x, "dtype", None) == dtypes.float0:
        return x
    if not isinstance(x, Array) or x.aval.is_high:
        aval = get_aval(x)
        if isinstance(aval, HiType):
            total: Any = aval.vspace_add(x, y)
            return total
    return sum_of_tangents(x, y)


def insert_axis(x: Value, position: int, size: int, along: NamedSharding | None = None) -> Value:
    """Broadcasts `x` along a new axis at `position`, which has the sharding `along`."""
    shape = shape_of(x)
    full = (*shape[:position], size, *shape[position:])
    dims = tuple(np.int64(k) for k in range(len(full)) if k != position)
    place = None
    if along is not None:
        place = with_axis(sharding_of(get_aval(x)), position, len(shape), along)
    return broadcast_in_dim_p.bind(x, shape=full, broadcast_dimensions=dims, sharding=place)


def scale(x: Value, factor: float) -> Value:
    """Multiplies `x` by a Python number."""
    return mul_p.bind(x, const(x, factor), out_dtype=None)


def reshard(x: Value, place: NamedSharding) -> Value:
    """Reshards `x` along Explicit axes."""
    return calculus.reshard(x, dst_sharding=place)


def install() -> None:
    """Makes the operations available to the transformations."""
    algebra.zeros = zeros
    algebra.add = add
    algebra.move_axis = move_axis
    algebra.insert_axis = insert_axis
    algebra.scale = scale
    algebra.reshard = reshard
