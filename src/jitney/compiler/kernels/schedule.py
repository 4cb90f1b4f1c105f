"""How a kernel's loops are run: which axes are joined, which is the vector axis, in what order.

These are decisions about speed alone; what a kernel means does not change.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.compiler.kernels.loops import LoopKernel
from jitney.core.record import record, replace


def map_indices(kernel: Kernel, change: Callable[[Affine], Affine]) -> Kernel:
    """`kernel` with every index changed."""
    body = tuple(
        [
            replace(s, index=change(s.index)) if isinstance(s, ir.Load | ir.Position) else s
            for s in kernel.body
        ]
    )
    outputs = tuple([replace(o, index=change(o.index)) for o in kernel.outputs])
    return replace(kernel, body=body, outputs=outputs)


def indices(kernel: Kernel) -> list[Affine]:
    """All indices of a kernel."""
    found = [s.index for s in kernel.body if isinstance(s, ir.Load | ir.Position)]
    return found + [o.index for o in kernel.outputs]


def collapse(kernel: Kernel) -> Kernel:
    """Neighbouring axes that every index walks as one are joined; axes of extent 1 go."""
    if 0 in kernel.extents:
        return kernel
    first_reduced = len(kernel.extents) - kernel.reduced
    used = indices(kernel)
    groups: list[list[int]] = []
    for k, n in enumerate(kernel.extents):
        if n == 1:
            continue
        previous = groups[-1] if groups else None
        if previous is not None and (previous[-1] < first_reduced) == (k < first_reduced):
            last = previous[-1]
            if all(i.coefficients[last] == i.coefficients[k] * n for i in used):
                previous.append(k)
                continue
        groups.append([k])
    extents: list[int] = []
    for axes in groups:
        extent = 1
        for k in axes:
            extent *= kernel.extents[k]
        extents.append(extent)
    reduced = sum(1 for axes in groups if axes[0] >= first_reduced)

    def change(index: Affine) -> Affine:
        coefficients = tuple([index.coefficients[axes[-1]] for axes in groups])
        return Affine(index.offset, coefficients, index.terms)

    joined = map_indices(kernel, change)
    return replace(joined, extents=tuple(extents), reduced=reduced)


@record(frozen=True)
class Schedule:
    """Order of loops.

    Attributes:
      outer: axes of scalar loops around everything, outermost first (kept axes).
      vector: the axis whose indices are lanes; None for a box without axes.
      inner: reduced axes of scalar loops within the lanes, outermost first.
    """

    outer: tuple[int, ...]
    vector: int | None
    inner: tuple[int, ...]
    folds_lanes: bool


def schedule(kernel: Kernel | LoopKernel) -> Schedule:
    """The loop order for `kernel` (collapsed)."""
    rank = len(kernel.extents)
    kept = tuple(range(rank - kernel.reduced))
    reduced = tuple(range(rank - kernel.reduced, rank))
    if not rank:
        return Schedule((), None, (), False)
    scores = [_score(kernel, k) for k in range(rank)]
    ordered = ordered_axes(kernel)
    free = [k for k in range(rank) if not ordered or _is_spread(kernel, k, ordered)]
    if not free:
        return Schedule(kept, None, reduced, False)
    best = max(free, key=lambda k: (scores[k], k))
    if best in reduced:
        inner = tuple(k for k in reduced if k != best)
        return Schedule(kept, best, inner, True)
    outer = tuple(k for k in kept if k != best)
    return Schedule(outer, best, reduced, False)


def ordered_axes(kernel: Kernel | LoopKernel) -> set[int]:
    """Axes along which points may write to one place: they are worked on one after the other.

    These are the axes along which places depend on values, or do not change.
    """
    if isinstance(kernel, LoopKernel):
        return set()
    stores = [o for o in kernel.outputs if isinstance(o, ir.Store)]
    still = {
        k
        for o in stores
        for k, n in enumerate(kernel.extents)
        if n > 1 and not o.index.coefficients[k]
    }
    if not any(o.index.terms for o in stores):
        return still
    along: list[set[int]] = []

    def of(index: Affine) -> set[int]:
        axes = {k for k, c in enumerate(index.coefficients) if c}
        return axes.union(*[along[t] for t, _ in index.terms])

    for s in kernel.body:
        match s:
            case ir.Load() | ir.Position():
                along.append(of(s.index))
            case ir.Call():
                along.append(set().union(*[along[a] for a in s.args]))
            case _:
                along.append(set())
    return still.union(*[along[t] for o in stores for t, _ in o.index.terms])


def _is_spread(kernel: Kernel | LoopKernel, axis: int, ordered: set[int]) -> bool:
    """Whether neighbours along `axis` write to different places, known without values."""
    return axis not in ordered and all(o.index.coefficients[axis] for o in kernel.outputs)


def _score(kernel: Kernel | LoopKernel, axis: int) -> float:
    """How well `axis` serves as the vector axis: unit strides are good, others bad."""
    score = 0.0
    for s in kernel.body:
        if isinstance(s, ir.Load):
            c = s.index.coefficients[axis]
            score += 1.0 if c == 1 else 0.0 if c == 0 else 0.2 if c == -1 else -1.0
    for o in kernel.outputs:
        c = o.index.coefficients[axis]
        score += 2.0 if c == 1 else 0.0 if c == 0 else -2.0
    extent = kernel.extents[axis]
    # A short axis leaves most lanes empty.
    return score if extent >= 8 else score * 0.5 - (0.5 if extent < 4 else 0.0)


SPLIT_ABOVE = 1 << 17  # points of a full reduction above which it is divided
SPLIT = 1 << 14  # points of one part: the same whatever the number of threads


def split_fold(kernel: Kernel) -> tuple[list[Kernel], int] | None:
    """A large full reduction as reductions of parts, for threads to share.

    Returns: kernels that write partial results, one after another, to the buffers of the outputs (in
      the dtype in which they are folded), and how many these are; None if the kernel, collapsed, is
      better left alone.
    """
    if kernel.reduced != 1 or len(kernel.extents) != 1 or kernel.extents[0] < SPLIT_ABOVE:
        return None
    (n,) = kernel.extents
    parts, rest = divmod(n, SPLIT)
    params = list(kernel.params)
    for o in kernel.outputs:
        params[o.param] = kernel.body[o.value].dtype

    def divided(index: Affine) -> Affine:
        (c,) = index.coefficients
        return Affine(index.offset, (c * SPLIT, c), index.terms)

    def tail(index: Affine) -> Affine:
        (c,) = index.coefficients
        return Affine(index.offset + c * parts * SPLIT, (c,), index.terms)

    def part(change: Callable[[Affine], Affine], extents: tuple[int, ...], at: Affine) -> Kernel:
        moved = map_indices(kernel, change)
        outputs = tuple([replace(o, index=at) for o in moved.outputs])
        return replace(moved, extents=extents, params=tuple(params), outputs=outputs)

    kernels = [part(divided, (parts, SPLIT), Affine(0, (1, 0)))]
    if rest:
        kernels.append(part(tail, (rest,), Affine(parts, (0,))))
    return kernels, parts + bool(rest)
