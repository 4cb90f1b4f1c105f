"""Emits readings of the processor's clock between the steps of a program (`plan/clocks.py`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.plan import ir


def write(e: Emitter, step: ir.Clock, address_of: Callable[[np.ndarray], Value]) -> None:
    """Emits code that adds the time since the last clock reading to the time of a step.

    See `ir.Clock`.

    Args:
      e: the emitter of the entry.
      step: the clock step.
      address_of: returns the address of an array that belongs to the program.
    """
    counters = address_of(step.counters)
    now = _ticks(e)
    if step.index < 0:
        _count(e, counters, step.counters.size - 1, constant(1, "i64"))
    else:
        before = e.emit(f"load i64, {counters!r}", "i64")
        _count(e, counters, 1 + 2 * step.index, e.sub(now, before))
        _count(e, counters, 2 + 2 * step.index, constant(1, "i64"))
    e.line(f"store {now!r}, {counters!r}")
    if step.events is not None:
        _note(e, address_of(step.events), step.events.size // 2, step.index, now)


def _count(e: Emitter, counters: Value, at: int, amount: Value) -> None:
    """Emits the addition of `amount` to one of the counters."""
    place = _element(e, counters, at)
    before = e.emit(f"load i64, {place!r}", "i64")
    e.line(f"store {e.add(before, amount)!r}, {place!r}")


def _note(e: Emitter, events: Value, most: int, index: int, now: Value) -> None:
    """Emits code that records a reading; once the array is full, the last entry is overwritten."""
    count = e.emit(f"load i64, {events!r}", "i64")
    at = e.intrinsic("llvm.umin", [count, constant(most - 1, "i64")])
    pair = e.emit(f"getelementptr [2 x i64], {events!r}, {at!r}", "ptr")
    e.line(f"store {constant(index, 'i64')!r}, {_element(e, pair, 1)!r}")
    e.line(f"store {now!r}, {_element(e, pair, 2)!r}")
    e.line(f"store {e.add(count, constant(1, 'i64'))!r}, {events!r}")


def _element(e: Emitter, start: Value, at: int) -> Value:
    return e.emit(f"getelementptr i64, {start!r}, i64 {at}", "ptr")


def _ticks(e: Emitter) -> Value:
    """Emits a reading of the processor's clock, which runs at a constant rate."""
    if e.target.is_x86:
        e.declarations.add("declare i64 @llvm.readcyclecounter()")
        return e.emit("call i64 @llvm.readcyclecounter()", "i64")
    return e.emit('call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()', "i64")
