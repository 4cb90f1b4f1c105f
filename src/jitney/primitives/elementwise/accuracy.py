"""The requested accuracy of a result: `lax.AccuracyMode`, `lax.Tolerance`.

Values of elementwise functions are always as accurate as the table of scalar functions says, which is
more than these ask for in single precision. `AccuracyMode.HIGHEST` changes derivatives: they are
computed in a way that keeps its relative accuracy where the function levels off.
"""

from __future__ import annotations

import enum
import math
from typing import TypeAlias

from jitney.core.record import record


class AccuracyMode(enum.Enum):
    """What a result's accuracy is chosen for."""

    HIGHEST = 1
    DEFAULT = 2


@record(frozen=True)
class Tolerance:
    """An error that is accepted: |error| <= atol + rtol |result|, or some units in the last place.

    Args:
      atol: absolute.
      rtol: relative.
      ulps: units in the last place.

    Raises:
      ValueError: if one is negative, or none is positive.
      TypeError: if one is not a number.

    Example:
      >>> lax.sqrt(4.0, accuracy=lax.Tolerance(rtol=1e-5))
      Array(2., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        bounds = (self.atol, self.rtol, self.ulps)
        if any(x < 0 or math.isnan(x) for x in bounds):
            raise ValueError(f"Tolerance: atol, rtol and ulps must be 0 or more, but are {self!r}")
        if not any(bounds):
            raise ValueError(
                "Tolerance: one of atol, rtol and ulps must be more than 0, but none is"
            )


Accuracy: TypeAlias = AccuracyMode | Tolerance | None


def check_accuracy(name: str, accuracy: object) -> None:
    """Raises NotImplementedError unless function `name` knows what `accuracy` asks for."""
    if accuracy is not None and not isinstance(accuracy, AccuracyMode | Tolerance):
        raise NotImplementedError(
            f"{name}: accuracy must be a lax.AccuracyMode, a lax.Tolerance or None, got {accuracy!r}"
        )
