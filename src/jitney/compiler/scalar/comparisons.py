"""Comparisons of numbers, with NaN unordered, and comparisons by the total order of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.code import Code
from jitney.compiler.scalar.floats import ordered_bits

Comparison: TypeAlias = Callable[[Emitter, Value, Value], Value]
BySign: TypeAlias = Callable[[Emitter, Value, Value, bool], Value]


def _of_floats(predicate: str) -> Comparison:
    return lambda e, x, y: e.fcmp(predicate, x, y)


def _of_integers(order: str) -> BySign:
    def rule(e: Emitter, x: Value, y: Value, signed: bool) -> Value:
        prefix = "" if order in ("eq", "ne") else "s" if signed else "u"
        return e.icmp(prefix + order, x, y)

    return rule


def _of_booleans(order: str) -> Comparison:
    return lambda e, x, y: _of_integers(order)(e, x, y, False)


def _of_ordered_bits(predicate: str) -> Comparison:
    return lambda e, x, y: e.icmp(predicate, ordered_bits(e, x), ordered_bits(e, y))


def _usual(order: str, of_floats: str) -> Code:
    return Code(
        floats=_of_floats(of_floats), by_sign=_of_integers(order), booleans=_of_booleans(order)
    )


def _total(order: str, of_bits: str) -> Code:
    of_floats = _of_ordered_bits(of_bits)
    return Code(
        floats=of_floats, halves=of_floats,
        by_sign=_of_integers(order), booleans=_of_booleans(order),
    )  # fmt: skip


eq, ne = _usual("eq", "oeq"), _usual("ne", "une")
lt, le = _usual("lt", "olt"), _usual("le", "ole")
gt, ge = _usual("gt", "ogt"), _usual("ge", "oge")
eq_to, lt_to, le_to = _total("eq", "eq"), _total("lt", "slt"), _total("le", "sle")
