"""Tables of rules by primitive, which are views of the rule slots in the primitives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from jitney.core.tracing.primitive import Primitive, registry

Rule = Callable[..., Any]


class RuleTable(MutableMapping[Primitive, Rule]):
    """A mapping from primitives to their rules in one slot; assignment replaces a built-in rule.

    Args:
      slot: name of the slot.
      replaces: names of other slots, whose rules are removed when a rule is set here.
      adapt: function that converts a user-defined rule to the form that is stored.
      show: function that converts a stored rule to the form that is returned.
    """

    def __init__(
        self,
        slot: str,
        *,
        replaces: tuple[str, ...] = (),
        adapt: Callable[[Rule], Rule] = lambda rule: rule,
        show: Callable[[Rule], Rule] = lambda rule: rule,
    ) -> None:
        self._slot = slot
        self._replaces = replaces
        self._adapt = adapt
        self._show = show
        self._others: weakref.WeakSet[Primitive] = weakref.WeakSet()

    def __setitem__(self, prim: Primitive, rule: Rule) -> None:
        set_rule(prim, self._slot, self._adapt(rule), self._replaces)
        self._others.add(prim)

    def __getitem__(self, prim: Primitive) -> Rule:
        return self._show(prim.rules[self._slot])

    def __delitem__(self, prim: Primitive) -> None:
        del prim.rules[self._slot]

    def __contains__(self, prim: object) -> bool:
        return isinstance(prim, Primitive) and self._slot in prim.rules

    def __iter__(self) -> Iterator[Primitive]:
        from jitney.primitives import load_all

        load_all.load()
        unregistered = {p for p in self._others if registry.get(p.name) is not p}
        return iter([p for p in (*registry.values(), *unregistered) if self._slot in p.rules])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<rules for {self._slot} of {len(self)} primitives>"


def set_rule(prim: Primitive, slot: str, rule: Rule, replaces: tuple[str, ...] = ()) -> None:
    """Sets the rule of `prim` in `slot`, and removes its rules in the slots `replaces`."""
    for other in replaces:
        prim.rules.pop(other, None)
    prim.replace_rule(slot, rule)


def clear(prim: Primitive, *slots: str) -> None:
    """Removes the rules of `prim` in the given slots, so that they can be set again."""
    for slot in slots:
        prim.rules.pop(slot, None)
