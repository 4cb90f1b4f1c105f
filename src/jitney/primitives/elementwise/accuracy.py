"""The option `accuracy` of functions: `lax.AccuracyMode` and `lax.Tolerance`.

The values of elementwise functions always have the accuracy stated in the table of scalar
functions, which exceeds these requests in single precision. `AccuracyMode.HIGHEST` changes
derivatives: they are computed in such a way that their relative error remains small where the
function levels off.
"""

from __future__ import annotations

import enum
import math
from typing import TypeAlias

from jitney.core.util.record import record


class AccuracyMode(enum.Enum):
    """The accuracy mode of an elementwise function; `HIGHEST` affects derivatives only."""

    HIGHEST = 1
    DEFAULT = 2


@record(frozen=True)
class Tolerance:
    """An error bound, |error| <= atol + rtol |result|, or a number of units in the last place.

    Args:
      atol: absolute error.
      rtol: relative error.
      ulps: error in units in the last place.

    Raises:
      ValueError: if a bound is negative or NaN, or if none is positive.
      TypeError: if a bound is not a number.

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
            raise ValueError(
                f"Tolerance: atol, rtol and ulps must not be negative or NaN, but got {self!r}"
            )
        if not any(bounds):
            raise ValueError(
                "Tolerance: at least one of atol, rtol and ulps must be positive, but none is"
            )


Accuracy: TypeAlias = AccuracyMode | Tolerance | None


def check_accuracy(name: str, accuracy: object) -> None:
    """Raises NotImplementedError unless `accuracy` is a valid option of the function `name`."""
    if accuracy is not None and not isinstance(accuracy, AccuracyMode | Tolerance):
        raise NotImplementedError(
            f"{name}: accuracy must be a lax.AccuracyMode, a lax.Tolerance or None, got {accuracy!r}"
        )
