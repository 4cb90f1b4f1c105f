"""Emits transpositions of blocks, and vector loads from them (`kernels/block_transposition.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler.codegen import access, interleaved
from jitney.compiler.codegen.grouped_loads import mask_of_several, memory_kind
from jitney.compiler.kernels.block_transposition import BlockTransposition, Place
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant, memory_bytes, type_text

Range = tuple[Value, Value]  # begin and end of a loop


class TransposedBlocks:
    """The transposed blocks of a kernel.

    Args:
      transposition: the loads that read transposed blocks.
      vector: the vectorized axis.
      params: the element types of the kernel's buffers.

    Attributes:
      allocas: lines for the entry block of the function.
      natives: the functions of the runtime that the code calls.
      ranges: the ranges of the transposed axis and of the vectorized axis that the current blocks
        cover.
    """

    def __init__(
        self, transposition: BlockTransposition, vector: int, params: Sequence[np.dtype]
    ) -> None:
        self.transposition = transposition
        self.vector = vector
        self.places = transposition.places()
        self.kinds = [memory_kind(params[block.param]) for block in transposition.blocks]
        self.allocas: list[str] = []
        self.tiles: list[Value] = []
        for number, (block, kind) in enumerate(zip(transposition.blocks, self.kinds, strict=True)):
            name = f"%block.{number}"
            elements = transposition.side * transposition.side * block.count
            self.allocas.append(f"  {name} = alloca [{elements} x {type_text(kind)}], align 64")
            self.tiles.append(Value(name, "ptr"))
        sizes = zip(transposition.blocks, self.kinds, strict=True)
        self.natives = [_function(block.count * memory_bytes(kind)) for block, kind in sizes]
        self.ranges: dict[int, Range] | None = None

    def __contains__(self, place: Place) -> bool:
        return self.ranges is not None and place in self.places

    def loops(
        self,
        e: Emitter,
        count: Callable[[Value, Value, int, Callable[[Value], None]], None],
        whole: tuple[Range, Range],
        body: Callable[[], None],
    ) -> None:
        """Writes loops over all blocks, with `ranges` set for each.

        Args:
          e: the emitter.
          count: a function that writes a loop, given its bounds, step and body.
          whole: the complete ranges of the transposed axis and of the vectorized axis.
          body: a function that writes the code for one block.
        """
        (low, high), (begin, limit) = whole
        side = self.transposition.side

        def end(start: Value, most: Value) -> Value:
            return e.intrinsic("llvm.smin", [e.add(start, constant(side, "i64")), most])

        def rows(row: Value) -> None:
            def columns(column: Value) -> None:
                self.ranges = {
                    self.transposition.axis: (row, end(row, high)),
                    self.vector: (column, end(column, limit)),
                }
                body()
                self.ranges = None

            count(begin, limit, side, columns)

        count(low, high, side, rows)

    def fill(
        self, e: Emitter, pointer: Callable[[int, Value], Value], known: dict[Any, Value]
    ) -> None:
        """Writes code that fills the blocks of `ranges` with transposed elements.

        Args:
          e: the emitter.
          pointer: returns the address of an element of a buffer, by its linear position.
          known: the contributions of outer axes to positions.
        """
        assert self.ranges is not None
        axis, side = self.transposition.axis, self.transposition.side
        (first, end), (begin, limit) = self.ranges[axis], self.ranges[self.vector]
        columns, rows = e.sub(end, first), e.sub(limit, begin)
        for block, kind, tile in zip(
            self.transposition.blocks, self.kinds, self.tiles, strict=True
        ):
            index = block.index
            along, across = index.coefficients[axis], index.coefficients[self.vector]
            size = memory_bytes(kind) * block.count
            step, target = side * size, tile
            start = first
            if along < 0:  # columns are reversed
                start = e.sub(end, constant(1, "i64"))
                last = e.mul(e.sub(columns, constant(1, "i64")), constant(step, "i64"))
                target = e.emit(f"getelementptr i8, {tile!r}, {last!r}", "ptr")
                step = -step
            at = e.add(
                known.get(index.coefficients, constant(0, "i64")), constant(index.offset, "i64")
            )
            at = e.add(at, e.mul(start, constant(along, "i64")))
            at = e.add(at, e.mul(begin, constant(across, "i64")))
            source = pointer(block.param, at)
            name = f"@jitney.{_function(size)}"
            e.declarations.add(f"declare void {name}(ptr, i64, ptr, i64, i64, i64) nounwind")
            across_bytes = across * memory_bytes(kind)
            arguments = (
                f"{target!r}, i64 {step}, {source!r}, i64 {across_bytes}, {rows!r}, {columns!r}"
            )
            e.line(f"call void {name}({arguments})")

    def load(
        self,
        e: Emitter,
        shared: dict[Any, Any],
        place: Place,
        counters: dict[int, Value],
        lanes: int,
        masks: tuple[Value | None, Value | None],
    ) -> Value:
        """Returns the elements of all lanes at `place`, in the kind that they have in memory.

        Args:
          e: the emitter.
          shared: the cache of values that are computed together.
          place: the buffer and position of a load that reads a block.
          counters: the loop counters.
          lanes: the number of lanes of a vector.
          masks: the mask of the lanes to load and their number, or None for all lanes.
        """
        if place in shared:
            return shared[place]
        assert self.ranges is not None
        number, _ = self.places[place]
        block, kind = self.transposition.blocks[number], self.kinds[number]
        row = e.sub(counters[self.transposition.axis], self.ranges[self.transposition.axis][0])
        column = e.sub(counters[self.vector], self.ranges[self.vector][0])
        at = e.add(e.mul(row, constant(self.transposition.side, "i64")), column)
        at = e.mul(at, constant(block.count, "i64")) if block.count > 1 else at
        tile = self.tiles[number]
        pointer = e.emit(f"getelementptr {type_text(kind)}, {tile!r}, {at!r}", "ptr")
        mask, remaining = masks
        if block.count == 1:
            return access.load_vector(e, pointer, kind, lanes, mask)
        mask = mask_of_several(e, shared, remaining, 2, lanes)
        parts = interleaved.separate(e, access.load_vector(e, pointer, kind, 2 * lanes, mask))
        pair = [p for p, (n, _) in self.places.items() if n == number]
        shared |= zip(pair, parts, strict=True)
        return shared[place]


def _function(size: int) -> str:
    """Returns the name of the runtime's function that transposes blocks of `size`-byte elements."""
    return f"transpose_{8 * size}"
