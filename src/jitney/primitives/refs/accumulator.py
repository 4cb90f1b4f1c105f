"""`RefAccum`: an accumulator of cotangents in a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.primitives.refs import access, lifetime
from jitney.transforms.accumulators import GradAccum
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.primitives.refs.ref import Ref
    from jitney.primitives.rule_types import Cotangent


class RefAccum(GradAccum):
    """Accumulates a cotangent in a reference; by default creates it with the first part.

    Attributes:
      ref: the reference; None before it is made.
    """

    def __init__(self, aval: AbstractValue, ref: Ref | None = None) -> None:
        super().__init__(aval)
        self.ref: Any = ref

    def inst(self) -> RefAccum:
        """Creates the reference, with zeros, if there is none; returns `self`."""
        if self.ref is None:
            self.ref = lifetime.new_ref(instantiate(Zero(self.aval)))
        return self

    def accum(self, x: Cotangent | None) -> None:
        """Adds a part to what the reference holds; None and symbolic zeros are nothing."""
        if x is not None and not isinstance(x, Zero):
            access.addupdate(self.inst().ref, ..., x)

    def freeze(self) -> Any:
        """Returns the sum."""
        return Zero(self.aval) if self.ref is None else access.get(self.ref, ...)

    def take(self) -> Any:
        """Returns the sum, and writes zeros to the reference."""
        zero = Zero(self.aval)
        return zero if self.ref is None else access.swap(self.ref, ..., instantiate(zero))
