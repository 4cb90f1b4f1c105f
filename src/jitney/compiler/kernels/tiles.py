"""Register tiling of contractions: tiles of a few rows by a few vectors of sums in registers.

    for i < 64, for j < 64, reduce k < 64              for i < 16, for j < 64, reduce k < 64
      %0 = load p0[i*64 + k]                             %0 = load p0[i*256 + k]
      %1 = load p1[j + k*64]                      ->     %1 = load p1[j + k*64]
      reduce add p2[i*64 + j] <- %0 * %1                 reduce add p2[i*256 + j] <- %0 * %1
                                                         %2 = load p0[i*256 + k + 64]
                                                         reduce add p2[i*256 + j + 64] <- %2 * %1
                                                         ... two more rows

The vector lanes are columns of the second operand. The loop over rows of the first operand is
unrolled (`unroll`), so that each vector of the second operand is loaded once for several rows. Code
generation chooses the number of vectors (`codegen/kernel_costs.lanes_hint`). These are the innermost
loops of Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008. Operands
are not packed, so the second operand has to fit in the caches. Tiling does not change the order of
the additions in a sum, so results do not change.

The batch axis and the rows are merged into one outermost axis; the index of the batch is its
quotient by the number of rows. To threads and row strips (`plan/row_strips.py`), the iterations are
therefore just rows.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel, Load, Reduce
from jitney.compiler.kernels.schedule import map_indices, schedule
from jitney.compiler.kernels.unroll import divided, unroll
from jitney.core.util.record import record, replace

_INT64 = np.dtype(np.int64)


@record(frozen=True)
class _Contraction:
    """The axes of a contraction whose vector lanes are columns.

    Attributes:
      rows: the axis that is tiled.
      batch: the batch axis before it, if it can be merged with the rows, or None.
    """

    rows: int
    batch: int | None


def tiled(kernel: Kernel) -> list[Kernel]:
    """Returns `kernel` in tiled form: full tiles, then a tile of the remaining rows.

    Args:
      kernel: a collapsed kernel.

    Returns:
      The kernels that replace it; empty if it is not a contraction, or if tiling does not pay off.
    """
    if kernel.points < COSTS.jam_above:
        return []
    contraction = _contraction(kernel)
    if contraction is None:
        return []
    axis, columns = contraction.rows, schedule(kernel).vector
    assert columns is not None
    narrow = kernel.extents[columns] < COSTS.accumulators_above
    height = COSTS.narrow_tile_rows if narrow else COSTS.tile_rows
    whole, remaining_rows = divmod(kernel.extents[axis], height)
    kernels: list[Kernel] = []
    if whole:
        kernels.append(_rows_written_out(kernel, contraction, 0, whole, height))
    if remaining_rows:
        kernels.append(_rows_written_out(kernel, contraction, whole * height, 1, remaining_rows))
    return kernels


def _contraction(kernel: Kernel) -> _Contraction | None:
    """Returns the axes to tile, or None if the lanes are not columns of a contraction."""
    plan = schedule(kernel)
    (out, *others) = kernel.outputs
    if others or not isinstance(out, Reduce) or out.factor is None:
        return None
    if plan.vector is None or plan.reduces_lanes:
        return None
    x, y = (_axes_of(kernel, s) for s in (out.value, out.factor))
    if plan.vector in x:
        x, y = y, x
    kept = range(len(kernel.parallel))
    rows = [k for k in kept if k in x and k not in y]
    if plan.vector in x or not rows:
        return None
    axis = rows[-1]
    joins = axis == 1 and 0 in x and 0 in y and _are_one(kernel, y)
    return _Contraction(axis, 0 if joins else None)


def _axes_of(kernel: Kernel, statement: int) -> set[int]:
    """Returns the axes on which a statement depends."""
    s = kernel.body[statement]
    match s:
        case Load() | ir.IndexValue():
            own = {k for k, c in enumerate(s.index.coefficients) if c}
            return own.union(*[_axes_of(kernel, t) for t, _ in s.index.terms])
        case ir.Call():
            return set[int]().union(*[_axes_of(kernel, a) for a in s.args])
        case _:
            return set()


def _are_one(kernel: Kernel, y: set[int]) -> bool:
    """Returns whether all indices but the second operand's traverse axes 0 and 1 as one axis."""
    for s in kernel.body:
        if isinstance(s, Load | ir.IndexValue):
            first, second = s.index.coefficients[:2]
            if second:
                if first != second * kernel.extents[1] or s.index.terms:
                    return False
            elif not isinstance(s, Load) or s.index.terms:
                return False
    return all(
        o.index.coefficients[0] == o.index.coefficients[1] * kernel.extents[1] and not o.index.terms
        for o in kernel.outputs
    )


def _rows_written_out(
    kernel: Kernel, contraction: _Contraction, first: int, count: int, height: int
) -> Kernel:
    """Returns `kernel` for `count` tiles of `height` unrolled rows, starting with row `first`."""
    axis = contraction.rows

    def change(index: Affine) -> Affine:
        return replace(index, offset=index.offset + index.coefficients[axis] * first)

    extents = (*kernel.extents[:axis], count * height, *kernel.extents[axis + 1 :])
    part = replace(map_indices(kernel, change), extents=extents)
    written = unroll(divided(part, axis, height), axis + 1)
    joins = contraction.batch is not None and first == 0 and count * height == kernel.extents[axis]
    return _joined(written) if joins else written


def _joined(kernel: Kernel) -> Kernel:
    """Returns `kernel` with axes 0 and 1 merged.

    An index that depends on axis 0 but not on axis 1 uses a quotient of the merged index.
    """
    first, second, *inner_extents = kernel.extents
    if first == 1 or second == 1:
        return kernel
    rank = 1 + len(inner_extents)
    position = ir.IndexValue(Affine(0, (1, *[0] * len(inner_extents))), _INT64)
    count = ir.Const(np.asarray(second, _INT64))
    body: list[ir.Statement] = [position, count, ir.Call("div", (0, 1), _INT64)]
    before, quotient = len(body), 2

    def moved(index: Affine) -> Affine:
        c = index.coefficients
        terms = tuple([(t + before, factor) for t, factor in index.terms])
        if c[1] or not c[0]:
            return Affine(index.offset, c[1:], terms)
        return Affine(index.offset, (0, *c[2:]), ((quotient, c[0]), *terms))

    for s in kernel.body:
        match s:
            case Load() | ir.IndexValue():
                body.append(replace(s, index=moved(s.index)))
            case ir.Call():
                body.append(replace(s, args=tuple([a + before for a in s.args])))
            case _:
                body.append(s)
    outputs: list[ir.Store | Reduce] = []
    for o in kernel.outputs:
        assert isinstance(o, Reduce) and o.factor is not None
        value, factor = o.value + before, o.factor + before
        outputs.append(replace(o, index=moved(o.index), value=value, factor=factor))
    extents = (first * second, *inner_extents)
    assert len(extents) == rank
    return replace(kernel, extents=extents, body=tuple(body), outputs=tuple(outputs))
