"""Index maps, which relate the axes of the operands and results of an operation.

An operation computes over an iteration space, whose axes are called *factors*. An axis of an
operand or result corresponds to one factor, to several (in a reshape; major to minor), or to none
if no other tensor shares it. A matrix product has three factors:

    x[i, k] y[k, j] -> out[i, j], k reduced by add

Shardings in types (`core.sharding_in_types`), sharding propagation and the partitioner
(`compiler.hlo`) are derived from these maps: an operation is sharded by assigning mesh axes to its
factors, which determines the shardings of its operands and results.

The idea is from Shardy (openxla.org/shardy), which likewise marks the factors along which a device
needs all elements; here they are listed in `replicated`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from jitney.core.util.record import record, replace

Shape: TypeAlias = tuple[int, ...]
Dims: TypeAlias = tuple[tuple[int, ...], ...]  # the factors of each axis of a tensor
Names: TypeAlias = tuple[Any, ...]  # mesh axes, major first
# The mesh axes along which each axis of a tensor is sharded.
Spec: TypeAlias = tuple[Names, ...]
Division: TypeAlias = Mapping[int, Names]  # the mesh axes assigned to each factor


@record(frozen=True, eq=False)
class IndexMap:
    """The relation between the axes of the operands and results of an operation.

    Attributes:
      sizes: sizes of the factors; the number of shards along a factor has to divide its size.
      operands: the factors of each operand's axes.
      results: the factors of each result's axes.
      reduced: the factors that are reduced over, with their monoids. If one is sharded, each device
        computes a partial result.
      replicated: factors along which an element of a result may depend on all elements of the
        operands, as in a sort. A device needs all elements along them to compute its shard.
    """

    sizes: Sequence[int]
    operands: Sequence[Dims]
    results: Sequence[Dims]
    reduced: Mapping[int, Any] = {}
    replicated: frozenset[int] = frozenset()

    def divisible(self) -> IndexMap:
        """Returns the map without its replicated factors, which are removed from all axes."""
        if not self.replicated:
            return self
        operands = [without_factors(dims, self.replicated) for dims in self.operands]
        results = [without_factors(dims, self.replicated) for dims in self.results]
        return replace(self, operands=operands, results=results, replicated=frozenset[int]())

    def read(
        self, dims: Dims, spec: Spec, parts: Callable[[Names], int]
    ) -> dict[int, Names]:  # fmt: skip
        """Returns the mesh axes of the factors, given the axes `dims` and the spec of a tensor.

        Mesh axes that do not divide a factor evenly are left out. `parts` returns the number of
        shards along mesh axes.
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

        An axis is sharded along a factor only if it is fully sharded along the more major ones.
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
    """Returns dims in which axis k has factor k; the axes in `whole` have no factor."""
    return tuple([() if k in whole else (k,) for k in range(rank)])


def without(dims: Dims, gone: Sequence[int] | frozenset[int]) -> Dims:
    """Returns `dims` without the axes `gone`."""
    return tuple([factors for k, factors in enumerate(dims) if k not in gone])


def without_factors(dims: Dims, gone: Sequence[int] | frozenset[int]) -> Dims:
    """Returns `dims` with the factors `gone` removed from its axes."""
    return tuple([tuple([f for f in factors if f not in gone]) for factors in dims])


# --- maps -----------------------------------------------------------------------------------------


def elementwise(
    shape: Shape, operands: int = 1, results: int = 1, replicated: Sequence[int] = ()
) -> IndexMap:
    """Returns the map of an operation whose operands and results all have the shape `shape`.

    Along the axes in `replicated`, an element of a result may depend on all elements of operands.
    """
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
    """Returns the map of a bitcast, which may add or remove a last axis of parts of an element."""
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
      monoid: combines partial results; None if partial results cannot be combined.
      operands: the number of operands of this shape.
      scalars: the number of additional operands, which are scalars.
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
    """Returns the map of a function that is applied to each element of a batch.

    Args:
      batch: the sizes of the batch axes, which are the factors and the first axes of all tensors.
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
    """Returns factor sizes of a gather or scatter, and the factors of operand, indices and windows.

    The axes of the windows have the operand's factors where they span the operand, and otherwise
    the factors of the indices.

    Args:
      shape: the shape of the operand.
      indices: the shape of the indices; the last axis runs over the components of an index.
      sizes: the sizes of a window along the axes of the operand.
      offsets: the axes of the tensor of windows that are axes of a window.
      gone: the axes of the operand that windows lack.
      pairs: pairs of batching axes, one of the operand and one of the indices.
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
    """Returns the common refinement of the axes of two shapes of equal size.

    The results are the sizes of the common factors, and the factors of each axis of either shape.
    """
    bounds = sorted({*_bounds(old), *_bounds(new)}, reverse=True)
    spans = [*itertools.pairwise(bounds)]
    usable = {span for span in spans if span[0] % span[1] == 0}
    while True:  # in an axis, the factors after one that is not shared are not blocks of it
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
    """Returns, for each axis of a shape, the spans that it consists of."""
    bounds = _bounds(shape)
    return [
        [span for span in spans if high >= span[0] and span[1] >= low]
        for high, low in itertools.pairwise(bounds)
    ]
