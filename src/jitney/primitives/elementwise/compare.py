"""Comparisons; their results are booleans.

The `_to` forms are total orders on floats: -NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN.
"""

from __future__ import annotations

from jitney.primitives import rules
from jitney.primitives.elementwise.families import ORDERED, binary, to_bool

eq_p, eq = binary(
    "eq",
    None,
    """x == y.

    Example:
      >>> lax.eq(jnp.array([1, 2]), jnp.array([1, 3]))
      Array([ True, False], dtype=bool)
    """,
    result=to_bool,
)
ne_p, ne = binary("ne", None, "x != y.", result=to_bool)
lt_p, lt = binary(
    "lt",
    ORDERED,
    """x < y.

    Example:
      >>> lax.lt(jnp.array([1, 2]), jnp.array([1, 3]))
      Array([False,  True], dtype=bool)
    """,
    result=to_bool,
)
le_p, le = binary("le", ORDERED, "x <= y.", result=to_bool)
gt_p, gt = binary("gt", ORDERED, "x > y.", result=to_bool)
ge_p, ge = binary("ge", ORDERED, "x >= y.", result=to_bool)
eq_to_p, eq_to = binary("eq_to", None, "x == y in the total order.", result=to_bool)
lt_to_p, lt_to = binary("lt_to", ORDERED, "x < y in the total order.", result=to_bool)
le_to_p, le_to = binary("le_to", ORDERED, "x <= y in the total order.", result=to_bool)

_ALL = (eq_p, ne_p, lt_p, le_p, gt_p, ge_p, eq_to_p, lt_to_p, le_to_p)
rules.def_zero_derivative(*_ALL)
rules.broadcasting(*_ALL)
for _prim in _ALL:
    _prim.absent("transpose", why="not linear")
