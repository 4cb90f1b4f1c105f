"""What the writer of a kernel knows at a place in its loops: a loop's body adds to a copy."""

from __future__ import annotations

from typing import Any

from jitney.compiler.llvm.values import Value


class State:
    """What is known at a place in the nest: values of statements, parts of addresses, counters.

    `shared` has what is computed along with something else: the second of two neighbours in memory,
    the other part of a complex number.
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
