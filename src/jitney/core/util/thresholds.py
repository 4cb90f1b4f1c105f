"""Thresholds: sizes at which the implementation changes, with a setting that lowers all of them.

A threshold is defined once, next to the code that uses it or in `compiler/cost.py`, as

    many = threshold(100_000, small=8)  # elements; from here on threads share the work

with a comment on its unit and on the origin of the number. With `JITNEY_SMALL_THRESHOLDS=1` in the
environment, the second number is used in the whole process: programs on a few elements then run
the code that is otherwise used for large arrays (strips, tiles, parts, threads and libraries). In
this way, tests and the fuzzer cover code that otherwise only large programs reach. The setting is
read once, at import: a threshold is a plain number.
"""

from __future__ import annotations

import os
from typing import TypeVar

_Number = TypeVar("_Number", int, float)

VARIABLE = "JITNEY_SMALL_THRESHOLDS"
ARE_SMALL = os.environ.get(VARIABLE) == "1"


def threshold(usual: _Number, *, small: _Number) -> _Number:
    """Returns the threshold `usual`, or `small` if the setting lowers thresholds.

    Args:
      usual: the size from which the other implementation is better.
      small: a size that programs on about ten elements reach, and that is large enough for the
        other implementation to be correct.
    """
    assert small < usual
    return small if ARE_SMALL else usual
