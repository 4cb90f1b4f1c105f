"""Least fixpoints, by which rules of loops find what a carry has to hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Found = TypeVar("Found")
State = TypeVar("State")
After = TypeVar("After")


def least_fixpoint(
    analyse: Callable[[list[bool]], tuple[Found, Sequence[bool]]], start: Sequence[bool]
) -> tuple[list[bool], Found]:
    """The smallest flags from `start` up that hold again after an iteration, and what was found then.

    Args:
      analyse: given the flags of carries before an iteration, (what it found, their flags after it).
      start: flags that hold at first. None is ever taken back, so this ends.
    """
    return least_fixpoint_by(analyse, list(start), _either)


def least_fixpoint_by(
    analyse: Callable[[State], tuple[Found, After]],
    start: State,
    join: Callable[[State, After], State],
) -> tuple[State, Found]:
    """Returns the same for any values that `join` brings together, growing until they stay equal."""
    while True:
        result, after = analyse(start)
        joined = join(start, after)
        if joined == start:
            return start, result
        start = joined


def _either(a: Sequence[bool], b: Sequence[bool]) -> list[bool]:
    return [x or y for x, y in zip(a, b, strict=True)]
