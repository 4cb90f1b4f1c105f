"""Effects: what a program does besides computing its results.

An effect is an object, and the effects of a jaxpr are the set of its equations' effects. Equations
with ordered effects keep their order. Equations with any effect are never removed or merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


class Effect:
    """The base class of all effects; users may subclass it (`jax.extend.core.Effect`)."""


class InputEffect(Effect):
    """An effect on one of the operands of an equation or a program.

    Attributes:
      input_index: the index of the operand; constants of a program are counted first.
    """

    def __init__(self, input_index: int) -> None:
        self.input_index = input_index

    def replace(self, input_index: int) -> Self:
        """Returns the same effect on another operand."""
        return type(self)(input_index)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.input_index == other.input_index

    def __hash__(self) -> int:
        return hash((type(self), self.input_index))


Effects = frozenset[Effect] | set[Effect]
no_effects: frozenset[Effect] = frozenset()


class EffectTypeSet:
    """A set of effect classes, such as those that a construct permits."""

    def __init__(self) -> None:
        self._types: set[type[Effect]] = set()

    def add_type(self, effect_type: type[Effect]) -> None:
        self._types.add(effect_type)

    def contains(self, effect: Effect) -> bool:
        return any(isinstance(effect, kind) for kind in self._types)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        return [e for e in effects if not self.contains(e)]


ordered_effects = EffectTypeSet()
lowerable_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()
remat_allowed_effects = EffectTypeSet()


class _NamedEffect(Effect):
    """An effect of this package; `str` returns its short name, as printed in equations."""

    _name = ""

    def __str__(self) -> str:
        return self._name


class DebugEffect(_NamedEffect):
    """Debugging output, in any order."""

    _name = "Debug"


class OrderedDebugEffect(_NamedEffect):
    """Debugging output, in program order."""

    _name = "OrderedDebug"


class IOEffect(_NamedEffect):
    """Input or output, in any order."""

    _name = "IO"


class OrderedIOEffect(_NamedEffect):
    """Input or output, in program order."""

    _name = "OrderedIO"


class GenericEffect(Effect):
    """The effect of a user-defined primitive; equal for all equations of one primitive.

    Attributes:
      prim: the primitive.
    """

    __slots__ = ("prim",)

    def __init__(self, prim: object) -> None:
        self.prim = prim

    def __eq__(self, other: object) -> bool:
        return type(other) is GenericEffect and self.prim is other.prim

    def __hash__(self) -> int:
        return hash((GenericEffect, self.prim))

    def __repr__(self) -> str:
        return f"GenericEffect(prim={self.prim})"


class NoDCEEffect(_NamedEffect):
    """A use of a value that dead code elimination must not remove."""

    _name = "NoDCE"


# JAX's module names: they appear in the text of a set of effects.
for _kind in (DebugEffect, OrderedDebugEffect):
    _kind.__module__ = "jax._src.debugging"
for _kind in (IOEffect, OrderedIOEffect):
    _kind.__module__ = "jax._src.callback"

debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()
io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()
no_dce_effect = NoDCEEffect()

for _kind in (OrderedDebugEffect, OrderedIOEffect):
    ordered_effects.add_type(_kind)
for _kind in (
    DebugEffect, OrderedDebugEffect, IOEffect, OrderedIOEffect, NoDCEEffect, GenericEffect,
):  # fmt: skip
    lowerable_effects.add_type(_kind)
    control_flow_allowed_effects.add_type(_kind)
for _kind in (DebugEffect, OrderedDebugEffect, NoDCEEffect, GenericEffect):
    custom_derivatives_allowed_effects.add_type(_kind)
    remat_allowed_effects.add_type(_kind)


def moved(effects: Effects, offset: int) -> Effects:
    """Returns `effects` with the operand indices shifted by `offset`.

    If a program has n constants, and its first operand is operand k of an equation, the offset
    k - n converts effects of the program to effects of the equation.
    """
    if not offset or not any(isinstance(e, InputEffect) for e in effects):
        return effects
    return frozenset(
        e.replace(e.input_index + offset) if isinstance(e, InputEffect) else e for e in effects
    )


def has_io(effects: Effects) -> bool:
    """Returns whether `effects` include input or output."""
    return any(isinstance(e, IOEffect | OrderedIOEffect) for e in effects)
