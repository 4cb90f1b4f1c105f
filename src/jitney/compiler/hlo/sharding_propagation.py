"""Sharding propagation: how values are sharded on a mesh, given the shardings of operands.

This is a forward analysis. One rule for each kind of node returns the sharding of its result for
given shardings of its operands, such that no data moves without need. A result without a rule is
replicated. Where the user constrains a value's sharding there is a node, `ShardingConstraint`. The
values of a program do not depend on the analysis.

The idea is GSPMD's (Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation
Graphs", 2021), without its backward passes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from jitney.compiler.hlo import ir, map_loops, traversal
from jitney.compiler.hlo.build import Builder
from jitney.core.reshape_groups import reshape_groups

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.sharding.sharding import Sharding

# For each axis of an array, the mesh axes that it is sharded along, major first.
Spec: TypeAlias = tuple[tuple[Any, ...], ...]


class SaysDivision(ABC):
    """The function of a host call that defines its own sharding rule. It is never called.

    Attributes:
      key: identifies the operation, also when the program is built again.
    """

    key: Hashable

    def __call__(self, *_: np.ndarray) -> Any:
        raise RuntimeError("it occurs only in programs for sharding propagation")

    @abstractmethod
    def of_results(self, operands: Sequence[Spec], extents: Mapping[Any, int]) -> list[Spec] | None:
        """Returns the spec of each result, given those of the operands and the sizes of mesh axes.

        None means that all results are replicated.
        """

    @abstractmethod
    def of_operands(
        self, operands: Sequence[Spec], is_open: Sequence[bool], extents: Mapping[Any, int]
    ) -> list[Spec]:
        """Returns the specs that operands should have.

        Those that `is_open` marks may be sharded along further mesh axes.
        """


class PlacementBuilder(Builder):
    """Builds programs that are analyzed for the shardings of their results, and never run.

    Attributes:
      mesh: the mesh that the program is partitioned for.
      calls_on_parts: nodes of operations that are built differently for each device's shards.
    """

    mesh: ClassVar[Mesh | AbstractMesh | None] = None
    calls_on_parts: ClassVar[list[ir.HostCall]] = []

    @classmethod
    def for_one_program(cls, mesh: Mesh | AbstractMesh | None) -> type[PlacementBuilder]:
        return type(cls.__name__, (cls,), {"mesh": mesh, "calls_on_parts": []})


class PartBuilder(Builder):
    """Builds programs in which some operations are computed by each device on its shards.

    Attributes:
      places: for each kind of such operations, in the order in which they are built, the shardings
        of the operands.
    """

    places: ClassVar[Mapping[Hashable, Iterator[Sequence[Sharding]]]]

    @classmethod
    def for_one_program(
        cls, places: Mapping[Hashable, Sequence[Sequence[Sharding]]]
    ) -> type[PartBuilder]:
        each = {key: iter(several) for key, several in places.items()}
        return type(cls.__name__, (cls,), {"places": each})

    def places_of(self, key: Hashable) -> Sequence[Sharding] | None:
        """Returns the shardings of the operands of the next operation of a kind.

        It is None if the operation is nested in another such operation.
        """
        return next(self.places.get(key, iter(())), None)


ANY_CALL = 0  # the kind of all calls of Python functions


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
      calls: receives the calls of Python functions, and the specs of the operands of each.
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
    """Returns `specs` restricted to mesh axes that are valid for arrays of `shapes`.

    Mesh axes that do not divide an axis evenly, or occur twice, are removed.
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


_SAID = (ir.Parameter, ir.ShardingConstraint)  # nodes whose sharding is fixed


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
                operands = [specs_of[x][0] for x in traversal.operands(node)]
                specs_of[node] = self.fitting(node, self.rule(node, operands))
        return [specs_of[result][0] for result in region.results]

    def fitting(self, node: ir.Node, specs: Sequence[Spec] | None) -> tuple[Spec, ...]:
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        return fitting(specs, [t.shape for t in types], self.extents)

    def parts(self, names: Sequence[Any]) -> int:
        """Returns the number of shards along the mesh axes `names`."""
        return _parts(names, self.extents)

    def rule(self, node: ir.Node, xs: list[Spec]) -> Sequence[Spec] | None:
        """Returns the specs of results for operands with specs `xs`; None if replicated."""
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
            case ir.Reshape():
                return [_reshaped(xs[0], node.x.shape, node.shape, self.parts)]
            case _:
                rule = _RULES.get(type(node))
                return None if rule is None else rule(node, xs)

    def loop(self, node: ir.While, init: list[Spec]) -> list[Spec]:
        """Merges the specs of carries' initial values and of the body's results.

        The latter have priority. They depend on the carries, so the body is analyzed to a fixed
        point, or as often as mesh axes may be added: carries that are swapped have new specs each
        time. The stacked results of a map loop are sharded along the rows like its operands.
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
        """Returns the specs of a loop's carries, whose initial values have the specs `init`."""
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
        if the constraint refers to another mesh.
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

    If one spec of an axis is a prefix of the other, the longer one is kept. Where two conflict, the
    axis is replicated, or has the last spec if that has priority. A mesh axis that shards two axes
    stays with the first.
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


def _reshaped(
    spec: Spec, old: ir.Shape, new: ir.Shape, parts: Callable[[Sequence[Any]], int]
) -> Spec:
    """Returns the spec after a reshape.

    Groups of axes with equal products keep the spec of their first axis.
    """
    out: list[tuple[Any, ...]] = [()] * len(new)
    for (first, *_), (new_first, *_) in () if 0 in old else reshape_groups(old, new):
        if new[new_first] % parts(spec[first]) == 0:
            out[new_first] = spec[first]
    return tuple(out)


# --- rules ----------------------------------------------------------------------------------------


def _elementwise(node: ir.Node, xs: list[Spec]) -> list[Spec]:
    return [merged(xs)]


def _same(node: ir.Node, xs: list[Spec]) -> list[Spec]:
    return xs


def _as_first(node: ir.Node, xs: list[Spec]) -> list[Spec]:
    return [xs[0]]


def _broadcast(node: Any, xs: list[Spec]) -> list[Spec]:
    out: list[tuple[Any, ...]] = [()] * len(node.shape)
    for k, dim in enumerate(node.dims):
        if node.x.shape[k] == node.shape[dim]:
            out[dim] = xs[0][k]
    return [tuple(out)]


def _bitcast(node: Any, xs: list[Spec]) -> list[Spec]:
    """Keeps the operand's spec; an axis that is added at the end is replicated."""
    return [(*xs[0], ())[: len(node.shape)]]


def _transpose(node: Any, xs: list[Spec]) -> list[Spec]:
    return [tuple([xs[0][k] for k in node.perm])]


def _update_slice(node: ir.DynamicUpdateSlice, xs: list[Spec]) -> list[Spec]:
    """Returns the spec of the updated operand.

    An axis that is replicated there, and overwritten completely, has the update's spec.
    """
    pairs = zip(xs[0], xs[1], node.x.shape, node.update.shape, strict=True)
    return [tuple([x or (update if n == m else ()) for x, update, n, m in pairs])]


def _where_whole(node: Any, xs: list[Spec]) -> list[Spec]:
    """Keeps the spec of axes that are read completely; others are replicated."""
    pairs = zip(xs[0], node.x.shape, node.shape, strict=True)
    return [tuple([names if n == m else () for names, n, m in pairs])]


def _reduce(node: Any, xs: list[Spec]) -> list[Spec]:
    return [tuple([names for k, names in enumerate(xs[0]) if k not in node.dims])]


def _reduce_region(node: Any, xs: list[Spec]) -> list[Spec]:
    n = len(node.xs)
    kept = [k for k in range(len(xs[0])) if k not in node.dims]
    spec = merged(xs[:n])
    return [tuple([spec[k] for k in kept])] * n


def _arg_reduce(node: Any, xs: list[Spec]) -> list[Spec]:
    return [tuple([names for k, names in enumerate(xs[0]) if k != node.dim])]


def _sort(node: Any, xs: list[Spec]) -> list[Spec]:
    return [merged(xs)] * len(xs)


def _top_k(node: Any, xs: list[Spec]) -> list[Spec]:
    kept = tuple([() if k == node.dim else names for k, names in enumerate(xs[0])])
    return [kept, kept]


def _dot(node: Any, xs: list[Spec]) -> list[Spec]:
    x, y = xs
    (contract_x, contract_y), (batch_x, batch_y) = node.contract, node.batch
    batch = [x[i] or y[j] for i, j in zip(batch_x, batch_y, strict=True)]
    rest_x = [names for k, names in enumerate(x) if k not in (*contract_x, *batch_x)]
    rest_y = [names for k, names in enumerate(y) if k not in (*contract_y, *batch_y)]
    return [(*batch, *rest_x, *rest_y)]


def _convolution(node: Any, xs: list[Spec]) -> list[Spec]:
    dims = node.dims
    out: list[tuple[Any, ...]] = [()] * len(node.shape)
    if dims.batch_groups == 1:
        out[dims.out_axes[0]] = xs[0][dims.x_axes[0]]
    if dims.groups == 1:
        out[dims.out_axes[1]] = xs[1][dims.w_axes[0]]
    return [tuple(out)]


def _gather(node: Any, xs: list[Spec]) -> list[Spec]:
    x, indices = xs[0], xs[1]
    dims = node.dims
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    inner = iter([
        names if size == n else ()
        for k, (names, size, n) in enumerate(zip(x, node.slice_sizes, node.x.shape, strict=True))
        if k not in gone
    ])  # fmt: skip
    outer = iter(indices[:-1])
    return [
        tuple([next(inner if k in dims.offset_dims else outer) for k in range(len(node.shape))])
    ]


def _dft(node: Any, xs: list[Spec]) -> list[Spec]:
    return [merged(xs)] * (1 if node.to_real else 2)


_RULES: dict[type, Callable[[Any, list[Spec]], list[Spec]]] = {
    ir.Apply: _elementwise,
    ir.Broadcast: _broadcast,
    ir.Transpose: _transpose,
    ir.Bitcast: _bitcast,
    ir.Slice: _as_first,
    ir.DynamicSlice: _where_whole,
    ir.Reverse: _as_first,
    ir.Pad: _as_first,
    ir.Concatenate: _elementwise,
    ir.DynamicUpdateSlice: _update_slice,
    ir.Gather: _gather,
    ir.Scatter: _as_first,
    ir.Reduce: _reduce,
    ir.ReduceRegion: _reduce_region,
    ir.ArgReduce: _arg_reduce,
    ir.Cumulative: _as_first,
    ir.Dot: _dot,
    ir.Convolution: _convolution,
    ir.Sort: _sort,
    ir.TopK: _top_k,
    ir.Dft: _dft,
    ir.OptimizationBarrier: _same,
}
