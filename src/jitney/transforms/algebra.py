"""The few operations that transformations themselves need; `primitives` fills them in.

This is the knot's untying: rules of `jit` or `scan` need the transformations, and the transformations
need to add, to make zeros and to move axes. They ask here.
"""

from __future__ import annotations

from typing import Any


class Algebra:
    """Operations on values of any trace; set by `primitives.tangent_algebra`.

    Attributes:
      zeros: aval -> zeros of that type.
      add: (x, y) -> their sum, for cotangents.
      move_axis: (x, source, destination) -> x.
      insert_axis: (x, position, size, along) -> x repeated along a new axis, which lies as `along`
        says if that is not None.
      scale: (x, factor) -> x times a Python number, of the type of x.
      reshard: (x, sharding) -> x lying so along Explicit axes.
    """

    zeros: Any = None
    add: Any = None
    move_axis: Any = None
    insert_axis: Any = None
    scale: Any = None
    reshard: Any = None


algebra = Algebra()
