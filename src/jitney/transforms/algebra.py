"""The few operations that the transformations themselves apply; `primitives` defines them.

This breaks an import cycle: rules of `jit` or `scan` use the transformations, which in turn must
add values, create zeros and move axes.
"""

from __future__ import annotations

from typing import Any


class Algebra:
    """Operations on values of any trace; `primitives.tangent_algebra` sets them.

    Attributes:
      zeros: aval -> zeros of that type.
      add: (x, y) -> their sum, for cotangents.
      move_axis: (x, source, destination) -> x with an axis moved.
      insert_axis: (x, position, size, along) -> x broadcast along a new axis, which is sharded by
        `along` unless that is None.
      scale: (x, factor) -> x times a Python number, with the type of x.
      reshard: (x, sharding) -> x, resharded along Explicit axes.
    """

    zeros: Any = None
    add: Any = None
    move_axis: Any = None
    insert_axis: Any = None
    scale: Any = None
    reshard: Any = None


algebra = Algebra()
