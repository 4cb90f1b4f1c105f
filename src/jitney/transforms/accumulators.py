"""Accumulators of cotangents: users' backward rules receive one for each operand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.transforms.zero import Zero, add_tangents

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.transforms.zero import Tangent


class GradAccum:
    """An accumulator of the cotangent of one operand.

    Attributes:
      aval: the type of the cotangent.
    """

    def __init__(self, aval: AbstractValue) -> None:
        self.aval = aval

    def accum(self, x: Tangent | None) -> None:
        """Adds `x` to the cotangent; None and symbolic zeros are ignored."""
        raise NotImplementedError

    def freeze(self) -> Tangent:
        """Returns the sum."""
        raise NotImplementedError

    def take(self) -> Tangent:
        """Returns the sum, and resets it to zero."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval.str_short()})"


class ValAccum(GradAccum):
    """An accumulator that holds the sum, starting from `val` if it is passed."""

    def __init__(self, aval: AbstractValue, val: Tangent | None = None) -> None:
        super().__init__(aval)
        self._sum: Any = Zero(aval)
        self.accum(val)

    def accum(self, x: Tangent | None) -> None:
        if x is not None:
            self._sum = add_tangents(self._sum, x)

    def freeze(self) -> Tangent:
        return self._sum

    def take(self) -> Tangent:
        taken, self._sum = self._sum, Zero(self.aval)
        return taken


class NullAccum(GradAccum):
    """An accumulator for an operand whose cotangent is not needed."""

    def accum(self, x: Tangent | None) -> None:
        """Discards `x`."""

    def freeze(self) -> Zero:
        return Zero(self.aval)

    take = freeze
