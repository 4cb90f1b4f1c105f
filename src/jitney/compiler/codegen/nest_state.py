"""The state of a kernel writer at a point of the loop nest; the body of a loop extends a copy."""

from __future__ import annotations

from typing import Any

from jitney.compiler.llvm.values import Value


class State:
    """The values available at a point of the nest: statements, parts of addresses, counters.

    `shared` holds values that were computed together with others, such as the second of two
    adjacent elements, or the other component of a complex number.
    """

    __slots__ = ("addresses", "counters", "shared", "splats", "values")

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}
        self.splats: dict[int, Value] = {}
        self.addresses: dict[tuple[int, ...], Value] = {}
        self.counters: dict[int, Value] = {}
        self.shared: dict[Any, Any] = {}

    def copy(self) -> State:
        new = State()
        new.values = dict(self.values)
        new.splats = dict(self.splats)
        new.addresses = dict(self.addresses)
        new.counters = dict(self.counters)
        new.shared = dict(self.shared)
        return new
