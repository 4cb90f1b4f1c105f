"""Least fixpoints, with which the rules of loops determine properties of the carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Found = TypeVar("Found")
State = TypeVar("State")
After = TypeVar("After")


def least_fixpoint(
    analyze: Callable[[list[bool]], tuple[Found, Sequence[bool]]], start: Sequence[bool]
) -> tuple[list[bool], Found]:
    """Returns the least fixpoint of flags of a loop carry, and the analysis result for it.

    Args:
      analyze: maps the flags before an iteration to (the analysis result, the flags after it).
      start: the initial flags. Flags are never cleared, so the iteration terminates.
    """
    return least_fixpoint_by(analyze, list(start), _either)


def least_fixpoint_by(
    analyze: Callable[[State], tuple[Found, After]],
    start: State,
    join: Callable[[State, After], State],
) -> tuple[State, Found]:
    """Returns the least fixpoint above `start`, and the analysis result for it.

    `join` combines the states before and after an iteration; the states grow until they are equal.
    """
    while True:
        result, after = analyze(start)
        joined = join(start, after)
        if joined == start:
            return start, result
        start = joined


def _either(a: Sequence[bool], b: Sequence[bool]) -> list[bool]:
    return [x or y for x, y in zip(a, b, strict=True)]
