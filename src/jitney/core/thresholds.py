"""Sizes from which on something is done in another way, and a setting that lowers all of them.

A size that decides stands once, beside what it decides or in `compiler/cost.py`, as

    many = threshold(100_000, small=8)  # elements; from here on threads share the work

with its unit, and where the number comes from, in a comment. With `JITNEY_SMALL_THRESHOLDS=1` in the
environment the second number is in force, in the whole process: programs of a few elements then are
computed as large ones are otherwise, by strips, tiles, parts, threads and libraries. So tests and the
fuzzer try what else only large programs reach. The setting is read once, at import: a threshold is a
plain number.
"""

from __future__ import annotations

import os
from typing import TypeVar

_Number = TypeVar("_Number", int, float)

VARIABLE = "JITNEY_SMALL_THRESHOLDS"
ARE_SMALL = os.environ.get(VARIABLE) == "1"


def threshold(usual: _Number, *, small: _Number) -> _Number:
    """Returns the size `usual`, or `small` where the setting lowers sizes.

    Args:
      usual: the size at which the other way is the better one.
      small: one that programs of some ten elements reach, large enough for the other way to be right.
    """
    assert small < usual
    return small if ARE_SMALL else usual
