"""Index spaces: how the axes of the operands and results of an operation relate.

An operation computes over an index space. Each axis of it is a *factor*; an axis of an operand or
of a result runs over one factor, over several (for a reshape; major first), or over none that
another tensor has. A product has three factors:

    x[i, k] y[k, j] -> out[i, j], k reduced by add

Three things are derived from these maps: shardings in types (`core.sharding_in_types`), sharding
propagation and the partitioner (`compiler.hlo`). To shard an operation is to assign mesh axes to
factors, and the shardings of operands and results follow.

The idea is Shardy's (openxla.org/shardy), where factors that a device needs completely are also
marked, as here in `replicated`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from jitney.core.util.record import record, replace

Shape: TypeAlias = tuple[int, ...]
Dims: TypeAlias = tuple[tuple[int, ...], ...]  # for each axis of a tensor, its factors
Names: TypeAlias = tuple[Any, ...]  # mesh axes, major first
# For each axis of a tensor, the mesh axes that it is sharded along.
Spec: TypeAlias = tuple[Names, ...]
Division: TypeAlias = Mapping[int, Names]  # the mesh axes assigned to factors


@record(frozen=True, eq=False)
class IndexMap:
    """How the axes of the operands and results of an operation relate.

    Attributes:
      sizes: sizes of the factors; the number of shards along a factor has to divide its size.
      operands: for each operand the factors of its axes.
      results: for each result the factors of its axes.
      reduced: factors that results are reduced over, with the monoid; along these, results are
        partial.
      replicated: factors along which each element of a result may depend on all elements of
        operands, as of a sort; a device that computes a shard needs them completely.
    """

    sizes: Sequence[int]
    operands: Sequence[Dims]
    results: Sequence[Dims]
    reduced: Mapping[int, Any] = {}
    replicated: frozenset[int] = frozenset()

    def divisible(self) -> IndexMap:
        """Returns the map without its replicated factors: axes along them have none."""
        if not self.replicated:
            return self
        operands = [without_factors(dims, self.replicated) for dims in self.operands]
        results = [without_factors(dims, self.replicated) for dims in self.results]
        return replace(self, operands=operands, results=results, replicated=frozenset[int]())

    def read(
        self, dims: Dims, spec: Spec, parts: Callable[[Names], int]
    ) -> dict[int, Names]:  # fmt: skip
        """Returns the sharding of factors that a tensor with axes `dims` and `spec` implies.

        Mesh axes that do not divide factors evenly are left out; `parts` counts the shards along
        mesh axes.
        """
        division: dict[int, Names] = {}
        for factors, names in zip(dims, spec, strict=True):
            remaining = names
            for factor in factors:
                taken = 0
                while (
                    taken < len(remaining)
                    and self.sizes[factor] % parts(remaining[: taken + 1]) == 0
                ):
                    taken += 1
                if taken:
                    division[factor] = remaining[:taken]
                remaining = remaining[taken:]
                if parts(division.get(factor, ())) != self.sizes[factor]:
                    break
        return division

    def spec(self, dims: Dims, division: Division, parts: Callable[[Names], int]) -> Spec:
        """Returns the spec of a tensor with axes `dims` for a sharding of factors.

        An axis is sharded along a factor only if it is sharded completely along those before it.
        """
        spec: list[Names] = []
        for factors in dims:
            names: Names = ()
            for factor in factors:
                own = division.get(factor, ())
                names += own
                if parts(own) != self.sizes[factor]:
                    break
            spec.append(names)
        return tuple(spec)


# --- axes -----------------------------------------------------------------------------------------


def plain(rank: int, whole: Sequence[int] = ()) -> Dims:
    """Returns dims in which axis k has factor k; axes of `whole` have none."""
    return tuple([() if k in whole else (k,) for k in range(rank)])


def without(dims: Dims, gone: Sequence[int] | frozenset[int]) -> Dims:
    """Returns `dims` without the axes `gone`."""
    return tuple([factors for k, factors in enumerate(dims) if k not in gone])


def without_factors(dims: Dims, gone: Sequence[int] | frozenset[int]) -> Dims:
    """Returns `dims` whose axes lack the factors `gone`."""
    return tuple([tuple([f for f in factors if f not in gone]) for factors in dims])


# --- maps -----------------------------------------------------------------------------------------


def elementwise(
    shape: Shape, operands: int = 1, results: int = 1, replicated: Sequence[int] = ()
) -> IndexMap:
    """Returns the map of tensors of one shape; elements may depend on others along `replicated`."""
    dims = plain(len(shape))
    return IndexMap(shape, [dims] * operands, [dims] * results, replicated=frozenset(replicated))


def broadcast(old: Shape, new: Shape, dims: Sequence[int]) -> IndexMap:
    """Returns the map of a broadcast, in which axis k of the operand is axis `dims[k]`."""
    kept = zip(dims, old, strict=True)
    operand = tuple([(k,) if n == new[k] else () for k, n in kept])
    return IndexMap(new, [operand], [plain(len(new))])


def transpose(shape: Shape, permutation: Sequence[int]) -> IndexMap:
    """Returns the map of a permutation of axes."""
    dims = plain(len(shape))
    return IndexMap(shape, [dims], [tuple([dims[k] for k in permutation])])


def bitcast(old: Shape, new: Shape) -> IndexMap:
    """Returns the map of a bitcast, which may add or remove a last axis for the parts of bits."""
    rank = min(len(old), len(new))
    dims = [(*plain(rank), *[()] * (len(shape) - rank)) for shape in (old, new)]
    return IndexMap(new[:rank], [dims[0]], [dims[1]])


def reduction(
    shape: Shape,
    axes: Sequence[int],
    monoid: object = None,
    *,
    operands: int = 1,
    scalars: int = 0,
    results: int = 1,
) -> IndexMap:
    """Returns the map of a reduction over `axes`.

    Args:
      shape: the shape of the operands.
      axes: the axes that are reduced over.
      monoid: combines partial results; if None, there are none.
      operands: the number of operands of this shape.
      scalars: the number of further operands, scalars.
      results: the number of results.
    """
    dims = plain(len(shape))
    no_axes: list[Dims] = [()] * scalars
    reduced: dict[int, object] = {} if monoid is None else dict.fromkeys(axes, monoid)
    return IndexMap(shape, [dims] * operands + no_axes, [without(dims, axes)] * results, reduced)


def dot(
    x: Shape,
    y: Shape,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
    monoid: object = "add",
) -> IndexMap:
    """Returns the map of a product: batch axes, free axes of `x`, then those of `y`."""
    of_x, of_y, sizes = plain(len(x)), list[tuple[int, ...]](), list(x)
    paired = {j: k for pair in (contract, batch) for k, j in zip(*pair, strict=True)}
    for k, n in enumerate(y):
        if k not in paired:
            sizes.append(n)
        of_y.append((paired.get(k, len(sizes) - 1),))
    result = (
        *[of_x[k] for k in batch[0]],
        *without(of_x, (*contract[0], *batch[0])),
        *without(tuple(of_y), (*contract[1], *batch[1])),
    )
    reduced: dict[int, object] = dict.fromkeys(contract[0], monoid)
    return IndexMap(sizes, [of_x, tuple(of_y)], [result], reduced)


def blocks(batch: Shape, operands: Sequence[int], results: Sequence[int]) -> IndexMap:
    """Returns the map of a function of blocks over the axes `batch`, which all tensors have first.

    Args:
      batch: the sizes of the batch axes, the factors.
      operands: for each operand, its rank, batch axes included.
      results: for each result, likewise.
    """
    axes = plain(len(batch))
    dims: list[Dims] = [(*axes, *[()] * (rank - len(batch))) for rank in (*operands, *results)]
    return IndexMap(batch, dims[: len(operands)], dims[len(operands) :])


def windows(
    shape: Shape,
    indices: Shape,
    sizes: Sequence[int],
    offsets: Sequence[int],
    gone: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    rank: int,
) -> tuple[list[int], Dims, Dims, Dims]:
    """Returns the factors of a gather or scatter: sizes, and those of operand, indices, windows.

    Windows run over the operand's factors along axes that they span completely, and over those of
    the indices along the others.

    Args:
      shape: the shape of the operand.
      indices: the shape of the indices; its last axis is that of the components.
      sizes: the sizes of a window along the axes of the operand.
      offsets: the axes of the tensor of windows that are axes of a window.
      gone: the axes of the operand that windows lack.
      pairs: batching axes, of the operand and of the indices.
      rank: the rank of the tensor of windows.
    """
    together = {of_indices: axis for axis, of_indices in pairs}
    last = len(indices) - 1
    index = tuple([
        () if k == last else (together.get(k, len(shape) + k),) for k in range(len(indices))
    ])  # fmt: skip
    window = iter([
        (k,) if sizes[k] == n else () for k, n in enumerate(shape) if k not in gone
    ])  # fmt: skip
    batch = iter(index[:-1])
    of_windows = tuple([next(window if k in offsets else batch) for k in range(rank)])
    return [*shape, *indices], plain(len(shape)), index, of_windows


def refinement(old: Shape, new: Shape) -> tuple[list[int], Dims, Dims]:
    """Returns the common factors of the axes of two shapes of equal size.

    They are the sizes of the factors, and the factors of each axis of the two shapes.
    """
    bounds = sorted({*_bounds(old), *_bounds(new)}, reverse=True)
    spans = [*itertools.pairwise(bounds)]
    usable = {span for span in spans if span[0] % span[1] == 0}
    while True:  # factors after an unusable one in an axis are not blocks of it
        before = len(usable)
        for shape in (old, new):
            for axis, inner in zip(_spans(shape, spans), _bounds(shape)[1:], strict=True):
                fits = [span in usable and span[1] % inner == 0 for span in axis]
                usable -= {*axis[[*fits, False].index(False) :]}
        if len(usable) == before:
            break
    numbers = {span: k for k, span in enumerate([s for s in spans if s in usable])}
    dims = [
        tuple([tuple([numbers[s] for s in axis if s in numbers]) for axis in _spans(shape, spans)])
        for shape in (old, new)
    ]
    return [high // low for high, low in numbers], dims[0], dims[1]


def _bounds(shape: Shape) -> list[int]:
    return [math.prod(shape[k:]) for k in range(len(shape) + 1)]


def _spans(shape: Shape, spans: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Returns the spans that each axis of a shape consists of."""
    bounds = _bounds(shape)
    return [
        [span for span in spans if high >= span[0] and span[1] >= low]
        for high, low in itertools.pairwise(bounds)
    ]
