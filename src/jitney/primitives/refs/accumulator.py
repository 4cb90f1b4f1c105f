"""`RefAccum`, an accumulator that stores the sum of cotangents in a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.primitives.refs import access, lifetime
from jitney.transforms.accumulators import GradAccum
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.refs.ref import Ref
    from jitney.primitives.rule_types import Cotangent


class RefAccum(GradAccum):
    """An accumulator that sums the terms of a cotangent in a reference.

    Attributes:
      ref: the reference, or None before it is created. By default, the first term creates it.
    """

    def __init__(self, aval: AbstractValue, ref: Ref | None = None) -> None:
        super().__init__(aval)
        self.ref: Any = ref

    def inst(self) -> RefAccum:
        """Creates the reference, filled with zeros, unless it exists; returns `self`."""
        if self.ref is None:
            self.ref = lifetime.new_ref(instantiate(Zero(self.aval)))
        return self

    def accum(self, x: Cotangent | None) -> None:
        """Adds a cotangent to the reference; ignores None and symbolic zeros."""
        if x is not None and not isinstance(x, Zero):
            access.addupdate(self.inst().ref, ..., x)

    def freeze(self) -> Cotangent:
        """Returns the sum."""
        return Zero(self.aval) if self.ref is None else access.get(self.ref, ...)

    def take(self) -> Cotangent:
        """Returns the sum, and resets the reference to zeros."""
        zero = Zero(self.aval)
        return zero if self.ref is None else access.swap(self.ref, ..., instantiate(zero))
