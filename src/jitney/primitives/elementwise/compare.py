"""Comparisons, whose results are booleans.

The functions with the suffix `_to` compare floats in their total order: -NaN < -inf < ... < -0.0 <
0.0 < ... < inf < NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.program.key_reuse import uses_keys
from jitney.core.types import dtypes
from jitney.primitives import calculus, rules
from jitney.primitives.elementwise.families import ORDERED, binary, to_bool

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.types.avals import ShapedArray
    from jitney.core.typing import Value

eq_p, eq = binary(
    "eq",
    None,
    """Computes x == y.

    Example:
      >>> lax.eq(jnp.array([1, 2]), jnp.array([1, 3]))
      Array([ True, False], dtype=bool)
    """,
    result=to_bool,
)
ne_p, ne = binary("ne", None, "Computes x != y.", result=to_bool)
lt_p, lt = binary(
    "lt",
    ORDERED,
    """Computes x < y.

    Example:
      >>> lax.lt(jnp.array([1, 2]), jnp.array([1, 3]))
      Array([False,  True], dtype=bool)
    """,
    result=to_bool,
)
le_p, le = binary("le", ORDERED, "Computes x <= y.", result=to_bool)
gt_p, gt = binary("gt", ORDERED, "Computes x > y.", result=to_bool)
ge_p, ge = binary("ge", ORDERED, "Computes x >= y.", result=to_bool)
eq_to_p, eq_to = binary(
    "eq_to", None, "Computes x == y in the total order of floats.", result=to_bool
)
lt_to_p, lt_to = binary(
    "lt_to", ORDERED, "Computes x < y in the total order of floats.", result=to_bool
)
le_to_p, le_to = binary(
    "le_to", ORDERED, "Computes x <= y in the total order of floats.", result=to_bool
)

_ALL = (eq_p, ne_p, lt_p, le_p, gt_p, ge_p, eq_to_p, lt_to_p, le_to_p)
rules.def_zero_derivative(*_ALL)
rules.broadcasting(*_ALL)
for _prim in _ALL:
    _prim.absent("transpose", why="not linear")


# Two keys are equal if all of their words are equal.


def _aligned(words: Value, aval: ShapedArray, shape: tuple[int, ...]) -> Value:
    """Broadcasts the words of keys of type `aval` to the words of keys of `shape`."""
    if aval.shape == shape:
        return words
    whole = (*shape, dtypes.words_of_key(aval.dtype))
    return calculus.broadcast_in_dim(
        words,
        shape=whole,
        broadcast_dimensions=tuple(range(len(shape) - aval.ndim, len(whole))),
    )


def _compares_words(prim: Primitive, reduce: Callable[..., Array]) -> None:
    @prim.key_words
    def key_words_rule(avals: Sequence[ShapedArray], *operands: Value) -> Array:
        shape = np.broadcast_shapes(*[a.shape for a in avals])
        words = [_aligned(x, a, shape) for x, a in zip(operands, avals, strict=True)]
        return reduce(prim.bind(*words), axes=(len(shape),))


_compares_words(eq_p, calculus.reduce_and)
_compares_words(ne_p, calculus.reduce_or)

# A comparison does not consume the keys.
uses_keys(eq_p)
uses_keys(ne_p)
