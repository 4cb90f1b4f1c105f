"""The semantics of kernels, defined by an interpreter.

It evaluates the body with NumPy on the whole iteration domain at once. If several points may write
to the same element, it proceeds point by point, in order. Loops at all points run together, as the
lanes of vectors do.
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
    with float_errors.ignored():
        if kernel.loop is None:
            _write(kernel, buffers, axes, extents, _values(kernel, buffers, axes, ()))
        else:
            _run_loop(kernel, kernel.loop, buffers, axes, extents)


def _run_loop(
    kernel: ir.Kernel,
    loop: ir.While,
    buffers: Sequence[np.ndarray],
    axes: Sequence[np.ndarray],
    extents: tuple[int, ...],
) -> None:
    """Runs the loops at all points together, until the conditions of all points are false."""
    places = [_linear(c.index, axes, ()) for c in loop.carries]
    carries = [
        reference.scalar.convert(np.asarray(buffers[c.start][at]), c.dtype)
        for c, at in zip(loop.carries, places, strict=True)
    ]
    values = _values(kernel, buffers, axes, carries)
    while bool(np.any(np.broadcast_to(values[loop.condition], extents))):
        _write(kernel, buffers, axes, extents, values)
        carries = [values[i] for i in loop.next_values]
        values = _values(kernel, buffers, axes, carries)
    for c, at, value in zip(loop.carries, places, carries, strict=True):
        buffers[c.finish][at] = reference.scalar.convert(value, buffers[c.finish].dtype)


def _linear(
    index: ir.Affine, axes: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> np.ndarray:
    """Returns the linear positions of `index`; `values` are those of the statements."""
    total = np.asarray(index.offset, np.int64)
    for axis, coefficient in zip(axes, index.coefficients, strict=True):
        if coefficient:
            total = total + axis * coefficient
    for statement, factor in index.terms:
        total = total + values[statement].astype(np.int64) * factor
    return total


def _values(
    kernel: ir.Kernel,
    buffers: Sequence[np.ndarray],
    axes: Sequence[np.ndarray],
    carries: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Returns the values of all statements; `carries` are the current values of the carries."""
    values: list[np.ndarray] = []
    for s in kernel.body:
        match s:
            case ir.Const():
                values.append(s.value)
            case ir.IndexValue():
                values.append(_linear(s.index, axes, values).astype(s.dtype))
            case ir.Load():
                values.append(np.asarray(buffers[s.param][_linear(s.index, axes, values)]))
            case ir.Call():
                args = [values[a] for a in s.args]
                row = lookup(s.fn)
                extra = () if row.result is not None else (s.dtype,)
                values.append(np.asarray(row.reference(*args, *extra)))
            case ir.Carried():
                values.append(carries[s.carry])
    return values


def _write(
    kernel: ir.Kernel,
    buffers: Sequence[np.ndarray],
    axes: Sequence[np.ndarray],
    extents: tuple[int, ...],
    values: Sequence[np.ndarray],
) -> None:
    """Executes the stores and reductions of a kernel, given the values of its statements."""
    reduced = tuple(range(len(extents) - kernel.reduced, len(extents)))
    # Reductions write one element for each parallel point, even if they reduce no elements.
    written = (*extents[: len(extents) - kernel.reduced], *[1] * kernel.reduced)
    for o in kernel.outputs:
        value = np.broadcast_to(values[o.value], extents)
        at = np.broadcast_to(_linear(o.index, axes, values), written)
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
