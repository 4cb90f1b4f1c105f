"""Effects: what a program does besides computing its results.

An effect is an object; a jaxpr carries the set of the effects of its equations. Ordered effects
keep the order of their equations; equations with any effect are never removed or merged.
"""

from __future__ import annotations

from typing import Any


class Effect:
    """Base of all effects; users subclass it (`jax.extend.core.Effect`)."""


Effects = frozenset[Effect] | set[Effect]
no_effects: frozenset[Effect] = frozenset()


class EffectTypeSet:
    """A set of effect classes: which effects some construct permits."""

    def __init__(self) -> None:
        self._types: set[type[Effect]] = set()

    def add_type(self, effect_type: type[Effect]) -> None:
        self._types.add(effect_type)

    def contains(self, effect: Any) -> bool:
        return any(isinstance(effect, kind) for kind in self._types)

    def filter_in(self, effects: Any) -> list[Effect]:
        return [e for e in effects if self.contains(e)]

    def filter_not_in(self, effects: Any) -> list[Effect]:
        return [e for e in effects if not self.contains(e)]


ordered_effects = EffectTypeSet()
lowerable_effects = EffectTypeSet()
control_flow_allowed_effects = EffectTypeSet()
custom_derivatives_allowed_effects = EffectTypeSet()
remat_allowed_effects = EffectTypeSet()
