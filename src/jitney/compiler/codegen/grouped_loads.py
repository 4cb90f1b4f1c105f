"""Replaces gathers in kernels by vector loads and shuffles.

This applies to loads of adjacent elements (`interleaved.py`), and of elements at a constant stride
(`strided.py`). Vectors that are loaded for one index are reused for nearby indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler.codegen import access, interleaved, strided
from jitney.compiler.codegen.interleaved import Place
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import Value, register_kind


class GroupedLoads:
    """The loads of a kernel that are grouped, with their code.

    Args:
      kernel: the kernel.
      axis: the vectorized axis.
      varies: for each statement, whether it varies between lanes.
      target: the processor to generate code for.
    """

    def __init__(
        self, kernel: Kernel, axis: int | None, varies: Sequence[bool], target: Target
    ) -> None:
        written = {o.param for o in kernel.outputs}
        loads = [s for s in kernel.body if isinstance(s, ir.Load)]
        steady = [
            (s.param, s.index)
            for s in loads
            if s.param not in written and not any(varies[t] for t, _ in s.index.terms)
        ]
        self.pairs = interleaved.find_pairs(steady, axis)
        single = [place for place in steady if place not in self.pairs]
        self.windows = strided.find_windows(single, axis, target)

    def __contains__(self, place: Place) -> bool:
        return place in self.pairs or place in self.windows

    def load(
        self,
        e: Emitter,
        shared: dict[Any, Any],
        place: Place,
        dtype: np.dtype,
        pointer: Callable[[Affine], Value],
        lanes: int,
        remaining: Value | None,
    ) -> Value:
        """Returns the elements of all lanes at `place`.

        Args:
          e: the emitter.
          shared: the cache of values that are computed together.
          place: one of the places that this object contains.
          dtype: the dtype of the elements.
          pointer: returns the address of the first lane's element at an index.
          lanes: the lanes of a vector.
          remaining: the number of lanes needed; None for all.
        """
        if place in shared:
            return shared[place]
        kind = memory_kind(dtype)
        if place in self.pairs:
            pair = self.pairs[place]
            mask = mask_of_several(e, shared, remaining, 2, lanes)
            wide = access.load_vector(e, pointer(pair[0][1]), kind, 2 * lanes, mask)
            parts = interleaved.separate(e, wide)
            if dtype == np.bool_:
                parts = e.trunc(parts[0], "i1"), e.trunc(parts[1], "i1")
            shared |= zip(pair, parts, strict=True)
            return shared[place]
        window = self.windows[place]
        if window not in shared:
            shared[window] = strided.load(e, window, pointer(window.first), kind, lanes, remaining)
        offset = place[1].offset - window.first.offset
        value = strided.picked(e, window, shared[window], offset, lanes)
        shared[place] = e.trunc(value, "i1") if dtype == np.bool_ else value
        return shared[place]


def memory_kind(dtype: np.dtype) -> str:
    """Returns the kind of elements of `dtype` in memory, where predicates are bytes."""
    return "i8" if dtype == np.bool_ else register_kind(dtype)


def mask_of_several(
    e: Emitter, shared: dict[Any, Any], remaining: Value | None, count: int, lanes: int
) -> Value | None:
    """Returns the mask of `remaining` lanes of `count` elements each, or None for all lanes."""
    if remaining is None:
        return None
    key = ("mask", remaining.text, count)
    if key not in shared:
        elements = e.mul(remaining, e.const(count, remaining))
        shared[key] = access.lanes_below(e, elements, count * lanes)
    return shared[key]
