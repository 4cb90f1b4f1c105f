"""Sharding propagation: infers the shardings of all values from those of a program's parameters.

This is a forward dataflow analysis. The index map of a node (`index_map`) determines the shardings
of its results from those of its operands, such that no data moves needlessly. The results of a node
without a map are replicated. A user's constraint on a sharding is a `ShardingConstraint` node. The
analysis does not affect the values that a program computes.

The algorithm follows GSPMD (Xu et al., "GSPMD: General and Scalable Parallelization for ML
Computation Graphs", 2021), but without its backward passes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from jitney.compiler.hlo import ir, map_loops, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.index_map import index_map, related_operands
from jitney.core.util.index_space import IndexMap, Spec as Spec

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.sharding.sharding import Sharding


class SaysDivision(ABC):
    """The function of a host call with a sharding rule of its own. It is never called.

    Attributes:
      key: identifies the operation; it stays the same when the program is built again.
    """

    key: Hashable

    def __call__(self, *_: np.ndarray) -> NoReturn:
        raise RuntimeError("this operation only describes a sharding rule; it is never executed")

    @abstractmethod
    def of_results(self, operands: Sequence[Spec], extents: Mapping[Any, int]) -> list[Spec] | None:
        """Returns the specs of the results, given those of the operands and the sizes of mesh axes.

        Returns None if all results are replicated.
        """

    @abstractmethod
    def of_operands(
        self, operands: Sequence[Spec], is_open: Sequence[bool], extents: Mapping[Any, int]
    ) -> list[Spec]:
        """Returns the specs that the operands should have.

        Operands marked in `is_open` can be sharded along further mesh axes.
        """


class PlacementBuilder(Builder):
    """Builds programs that are only analyzed for the shardings of their results, and never run.

    Attributes:
      mesh: the mesh that the program is partitioned for.
      calls_on_parts: the host calls whose operations are built differently for each device's
        shards.
    """

    mesh: ClassVar[Mesh | AbstractMesh | None] = None
    calls_on_parts: ClassVar[list[ir.HostCall]] = []

    @classmethod
    def for_one_program(cls, mesh: Mesh | AbstractMesh | None) -> type[PlacementBuilder]:
        return type(cls.__name__, (cls,), {"mesh": mesh, "calls_on_parts": []})


class PartBuilder(Builder):
    """Builds programs in which some operations run on each device's shards separately.

    Attributes:
      places: the shardings of the operands of such operations, by kind of operation, in their order
        of construction.
    """

    places: ClassVar[Mapping[Hashable, Iterator[Sequence[Sharding]]]]

    @classmethod
    def for_one_program(
        cls, places: Mapping[Hashable, Sequence[Sequence[Sharding]]]
    ) -> type[PartBuilder]:
        each = {key: iter(several) for key, several in places.items()}
        return type(cls.__name__, (cls,), {"places": each})

    def places_of(self, key: Hashable) -> Sequence[Sharding] | None:
        """Returns the shardings of the operands of the next operation of kind `key`.

        Returns None if the operation is nested in another such operation.
        """
        return next(self.places.get(key, iter(())), None)


ANY_CALL = 0  # the kind of all calls of Python functions without a sharding rule


def kind_of(node: ir.HostCall) -> Hashable:
    """Returns the kind of an operation that is built differently for each device's shards."""
    return node.fn.key if isinstance(node.fn, SaysDivision) else ANY_CALL


def propagate(
    region: ir.Region,
    specs: Sequence[Spec],
    extents: Mapping[Any, int],
    calls: dict[ir.HostCall, list[Spec]] | None = None,
) -> list[Spec]:
    """Returns the specs of the results of `region`.

    Args:
      region: the program.
      specs: the specs of its parameters.
      extents: sizes of the mesh axes.
      calls: a mapping that receives the calls of Python functions, each with its operands' specs.
    """
    return _Propagation(extents, calls).region(region, specs)


def without(spec: Spec, names: Sequence[Any]) -> Spec:
    """Returns `spec` without the mesh axes `names`."""
    return tuple([tuple([x for x in own if x not in names]) for own in spec])


def whole(ndim: int) -> Spec:
    """Returns the spec of a replicated array of `ndim` axes."""
    return ((),) * ndim


def fitting(
    specs: Sequence[Spec] | None, shapes: Sequence[ir.Shape], extents: Mapping[Any, int]
) -> tuple[Spec, ...]:
    """Returns `specs` restricted to the mesh axes that are valid for arrays of shapes `shapes`.

    Mesh axes that do not divide an axis evenly, or that occur twice, are removed. If `specs` is
    None, all arrays are replicated.
    """
    if specs is None:
        return tuple([whole(len(shape)) for shape in shapes])
    fitted: list[Spec] = []
    for spec, shape in zip(specs, shapes, strict=True):
        used: set[Any] = set()
        kept: list[tuple[Any, ...]] = []
        for names, n in zip(spec, shape, strict=True):
            fits = not used.intersection(names) and n % _parts(names, extents) == 0
            kept.append(names if fits else ())
            used.update(kept[-1])
        fitted.append(tuple(kept))
    return tuple(fitted)


def _parts(names: Sequence[Any], extents: Mapping[Any, int]) -> int:
    return math.prod([extents[name] for name in names])


_SAID = (ir.Parameter, ir.ShardingConstraint)  # nodes whose sharding is given


class _Propagation:
    def __init__(
        self, extents: Mapping[Any, int], calls: dict[ir.HostCall, list[Spec]] | None
    ) -> None:
        self.extents = extents
        self.calls = calls

    def region(self, region: ir.Region, specs: Sequence[Spec]) -> list[Spec]:
        specs_of: dict[ir.Node, tuple[Spec, ...]] = {}
        roots = region.results if self.calls is None else traversal.roots(region)
        for node in traversal.topological_order(roots):
            if isinstance(node, ir.Parameter):
                spec = specs[node.index]
                specs_of[node] = (spec if len(spec) == len(node.shape) else whole(len(node.shape)),)
            elif isinstance(node, ir.Project):
                specs_of[node] = (specs_of[node.node][node.index],)
            else:
                specs_of[node] = self.fitting(node, self.results(node, specs_of))
        return [specs_of[result][0] for result in region.results]

    def fitting(self, node: ir.Node, specs: Sequence[Spec] | None) -> tuple[Spec, ...]:
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        return fitting(specs, [t.shape for t in types], self.extents)

    def parts(self, names: Sequence[Any]) -> int:
        """Returns the number of shards along the mesh axes `names`."""
        return _parts(names, self.extents)

    def results(
        self, node: ir.Node, specs_of: Mapping[ir.Node, tuple[Spec, ...]]
    ) -> Sequence[Spec] | None:
        """Returns the specs of a node's results, given those of operands; None if replicated."""
        xs = [specs_of[x][0] for x in traversal.operands(node)]
        match node:
            case ir.While():
                return self.loop(node, xs)
            case ir.Cond():
                branches = [self.region(case, xs[1:]) for case in node.cases]
                return [merged(specs) for specs in zip(*branches, strict=True)]
            case ir.HostCall(fn=fn):
                division = fn if isinstance(fn, SaysDivision) else None
                if self.calls is not None:
                    self.calls[node] = xs
                    if division is not None:
                        is_open = [not isinstance(x, _SAID) for x in node.args]
                        self.calls[node] = division.of_operands(xs, is_open, self.extents)
                return None if division is None else division.of_results(xs, self.extents)
            case ir.LibraryCall(name="placed"):
                names = list(self.extents)
                params: dict[str, Any] = dict(node.params)
                return [
                    tuple([tuple([names[k] for k in entry]) for entry in spec])
                    for spec in params["specs"]
                ]
            case ir.ShardingConstraint():
                return [wanted(node.sharding, xs[0], self.extents)]
            case ir.OptimizationBarrier():
                return xs
            case _:
                related = index_map(node)
                if related is None or not related.operands:
                    return None
                return self.mapped(related, [specs_of[x][0] for x in related_operands(node)])

    def mapped(self, related: IndexMap, xs: Sequence[Spec]) -> list[Spec]:
        """Returns the specs that an index map implies for results, given those of the operands.

        If operands are sharded differently along a factor of the results, their shardings are
        merged.
        """
        kept = {factor for dims in related.results for axis in dims for factor in axis}
        divisions = [
            related.read(dims, spec, self.parts)
            for dims, spec in zip(related.operands, xs, strict=True)
        ]
        by_factor = [
            tuple([division.get(k, ()) if k in kept else () for k in range(len(related.sizes))])
            for division in divisions
        ]
        division = dict(enumerate(merged(by_factor)))
        return [related.spec(dims, division, self.parts) for dims in related.results]

    def loop(self, node: ir.While, init: list[Spec]) -> list[Spec]:
        """Merges the specs of the carries' initial values with those of the body's results.

        The body's results have priority. They depend on the carries, so the body is analyzed until
        a fixed point is reached. The number of iterations is bounded by the number of mesh axes
        that could be added, since carries that are swapped get new specs each time. The stacked
        results of a map loop are sharded along their rows like its operands.
        """
        mapped = map_loops.as_map(node)
        rows = () if mapped is None else next((n for k in mapped.sliced if (n := init[k][0])), ())
        if mapped is not None and rows:
            inner = [without(spec, rows) for spec in init]
            for k in mapped.mapped:
                inner[k] = ((), *inner[k][1:])
            carried = self.carried(node, inner)
            return [
                (rows, *spec[1:])
                if k in mapped.stacked
                else init[k]
                if k in mapped.sliced
                else spec
                for k, spec in enumerate(carried)
            ]
        return self.carried(node, init)

    def carried(self, node: ir.While, init: list[Spec]) -> list[Spec]:
        """Returns the specs of a loop's carries, given the specs `init` of their initial values."""
        carry = init
        for _ in range(len(self.extents) + 1):
            after = self.region(node.body, carry)
            both = [merged(pair, last_wins=True) for pair in zip(carry, after, strict=True)]
            if both == carry:
                break
            carry = both
        return carry


def wanted(sharding: ir.TensorSharding, inferred: Spec, extents: Mapping[Any, int]) -> Spec:
    """Returns the spec of a value under a sharding constraint.

    Args:
      sharding: the constraint.
      inferred: the spec of the value without the constraint. It is kept along open dimensions, and
        everywhere if the constraint refers to another mesh.
      extents: sizes of the mesh axes.
    """
    taken = {name for names in sharding.dimensions for name in names}
    if not taken.issubset(extents):
        return inferred
    taken.update(sharding.replicated)
    return tuple([
        names + tuple([name for name in old if is_open and name not in taken])
        for names, is_open, old in zip(sharding.dimensions, sharding.is_open, inferred, strict=True)
    ])  # fmt: skip


def merged(specs: Sequence[Spec], *, last_wins: bool = False) -> Spec:
    """Merges specs of equal length.

    If one spec of an axis is a prefix of the other, the longer one is kept. If two specs conflict,
    the axis is replicated, or gets the last spec if `last_wins`. A mesh axis that would shard two
    axes is kept for the first only.
    """
    out = list(specs[0])
    contradicted: set[int] = set()
    for spec in specs[1:]:
        for k, (mine, other) in enumerate(zip(out, spec, strict=True)):
            elsewhere = {name for i, names in enumerate(out) if i != k for name in names}
            if k in contradicted or other == mine[: len(other)] or elsewhere.intersection(other):
                continue
            if mine == other[: len(mine)] or last_wins:
                out[k] = other
            else:
                out[k] = ()
                contradicted.add(k)
    return tuple(out)
