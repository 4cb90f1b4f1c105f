"""The semantics of kernels, defined by an interpreter.

It evaluates the body with NumPy on the whole iteration domain at once. If several points may write
to the same element, it proceeds point by point, in order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler import reference
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.schedule import ordered_axes
from jitney.compiler.reference import reduction
from jitney.compiler.scalar_functions import lookup
from jitney.core.util import float_errors


def run(kernel: ir.Kernel, buffers: Sequence[np.ndarray]) -> None:
    """Runs `kernel` on flat buffers, one per parameter; outputs are written in place."""
    extents = kernel.extents
    if not ordered_axes(kernel):
        axes = np.meshgrid(*[np.arange(n) for n in extents], indexing="ij", sparse=True)
        _run_box(kernel, buffers, axes, extents)
        return
    for point in np.ndindex(extents):
        _run_box(kernel, buffers, [np.asarray(i) for i in point], (1,) * len(extents))


def _run_box(
    kernel: ir.Kernel,
    buffers: Sequence[np.ndarray],
    axes: Sequence[np.ndarray],
    extents: tuple[int, ...],
) -> None:
    """Runs `kernel` at the points with the coordinates `axes`, which are broadcast to `extents`."""
    values: list[np.ndarray] = []

    def linear(index: ir.Affine) -> np.ndarray:
        total = np.asarray(index.offset, np.int64)
        for axis, coefficient in zip(axes, index.coefficients, strict=True):
            if coefficient:
                total = total + axis * coefficient
        for statement, factor in index.terms:
            total = total + values[statement].astype(np.int64) * factor
        return total

    with float_errors.ignored():
        for s in kernel.body:
            match s:
                case ir.Const():
                    values.append(s.value)
                case ir.IndexValue():
                    values.append(linear(s.index).astype(s.dtype))
                case ir.Load():
                    values.append(np.asarray(buffers[s.param][linear(s.index)]))
                case ir.Call():
                    args = [values[a] for a in s.args]
                    row = lookup(s.fn)
                    extra = () if row.result is not None else (s.dtype,)
                    values.append(np.asarray(row.reference(*args, *extra)))
        reduced = tuple(range(len(extents) - kernel.reduced, len(extents)))
        # Reductions write one element for each parallel point, even if they reduce no elements.
        written = (*extents[: len(extents) - kernel.reduced], *[1] * kernel.reduced)
        for o in kernel.outputs:
            value = np.broadcast_to(values[o.value], extents)
            at = np.broadcast_to(linear(o.index), written)
            if isinstance(o, ir.Reduce):
                if o.factor is not None:
                    value = value * values[o.factor]
                reduce = reduction.reduce_in_order if kernel.in_order else reduction.reduce
                value = reduce(value, o.fn, reduced)
                at = at[(..., *[0] * kernel.reduced)] if reduced else at
            value = reference.scalar.convert(value, buffers[o.param].dtype)
            if isinstance(o, ir.Store) and o.where is not None:
                kept = np.broadcast_to(values[o.where], extents)
                at, value = at[kept], value[kept]
            buffers[o.param][at] = value


__all__ = ["run"]
