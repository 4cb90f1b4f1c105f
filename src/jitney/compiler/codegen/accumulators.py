"""Accumulators, which hold the partial results of a kernel's reductions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant, register_kind, type_text
from jitney.compiler.scalar import table


class Accumulators:
    """Vectors on the stack, initialized to the neutral element; LLVM promotes them to registers.

    Args:
      e: the emitter.
      reductions: the monoid and the dtype of the reduction of each output.
      widths: the numbers of lanes of consecutive reducing loops, widest first; each loop has its
        own accumulators.

    Attributes:
      allocas: lines for the entry block of the function.
    """

    def __init__(
        self, e: Emitter, reductions: Sequence[tuple[str, np.dtype]], widths: Sequence[int]
    ) -> None:
        self.e = e
        self.reductions = reductions
        self.widths = widths
        self.allocas: list[str] = []
        self._places: dict[tuple[int, int], str] = {}
        for j, (fn, dtype) in enumerate(reductions):
            for lanes in widths:
                name = f"%acc.{e.fresh()[1:]}"
                self.allocas.append(f"  {name} = alloca {type_text(_held(dtype), lanes)}, align 64")
                self._places[j, lanes] = name
                self._write(j, constant(neutral(fn, dtype), _held(dtype), lanes))

    def resume(self, j: int, so_far: Value, unless: Value) -> None:
        """Makes the reduction of output j continue from `so_far`.

        If `unless` is true, as it is in the first strip, the reduction starts from the neutral
        element.
        """
        start = self.e.select(unless, self.value(j, so_far.lanes), so_far)
        self._write(j, start)

    def add(self, j: int, value: Value, mask: Value | None, factor: Value | None = None) -> None:
        """Reduces `value`, or its product with `factor`, into output j in the lanes of `mask`."""
        e = self.e
        old = self.value(j, value.lanes)
        if factor is None:
            new = self._combine(j, old, value)
        elif self.reductions[j][1].kind == "f":
            new = e.fma(value, factor, old)
        else:
            new = e.add(old, e.mul(value, factor))
        if mask is not None:
            new = e.select(mask, new, old)
        self._write(j, e.zext(new, "i8") if value.kind == "i1" else new)

    def value(self, j: int, lanes: int | None = None) -> Value:
        """Returns the partial results of output j in the accumulator with `lanes` lanes.

        By default, this is the widest accumulator.
        """
        lanes = self.widths[0] if lanes is None else lanes
        _, dtype = self.reductions[j]
        kind = _held(dtype)
        name = self._places[j, lanes]
        held = self.e.emit(f"load {type_text(kind, lanes)}, ptr {name}, align 64", kind, lanes)
        return self.e.trunc(held, "i1") if dtype == np.bool_ else held

    def reduced(self, j: int) -> Value:
        """Returns output j with all lanes combined by a fixed reduction tree."""
        value = self.value(j)
        for lanes in self.widths[1:]:
            value = self._combine(j, self._narrowed(j, value, lanes), self.value(j, lanes))
        return self._narrowed(j, value, 1)

    def _narrowed(self, j: int, value: Value, lanes: int) -> Value:
        """Returns `value` with its halves combined repeatedly until `lanes` lanes are left."""
        e = self.e
        while value.lanes > lanes:
            half = value.lanes // 2
            if half == 1:
                return self._combine(j, e.extract(value, 0), e.extract(value, 1))
            low, high = (
                e.emit(
                    f"shufflevector {value!r}, {value.type} poison, <{half} x i32> "
                    f"<{', '.join(f'i32 {k}' for k in picks)}>",
                    value.kind,
                    half,
                )
                for picks in (range(half), range(half, 2 * half))
            )
            value = self._combine(j, low, high)
        return value

    def _combine(self, j: int, x: Value, y: Value) -> Value:
        fn, dtype = self.reductions[j]
        result = table.emit(self.e, fn, dtype, [x, y], dtype)
        assert result is not None, f"no code for {fn} of {dtype}"
        return result

    def _write(self, j: int, held: Value) -> None:
        self.e.line(f"store {held!r}, ptr {self._places[j, held.lanes]}, align 64")


def _held(dtype: np.dtype) -> str:
    """Returns the kind of an accumulator in memory, where predicates are bytes."""
    return "i8" if dtype == np.bool_ else register_kind(dtype)


def neutral(fn: str, dtype: np.dtype) -> float | int:
    """Returns the neutral element of a monoid."""
    if fn == "mul":
        return 1
    if fn in ("add", "or", "xor"):
        return 0
    if fn == "and":
        return 1 if dtype == np.bool_ else -1
    if dtype == np.bool_:
        return int(fn == "min")
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min if fn == "max" else info.max)
    return float("-inf") if fn == "max" else float("inf")
