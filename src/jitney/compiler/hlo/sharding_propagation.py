"""Sharding propagation: along which axes of a mesh values are divided, given the operands.

A forward analysis: one rule for each kind of node says how its result is divided if its operands are
divided in certain ways and nothing is to be moved without need. What a rule says nothing of is whole on
each device. Where the user says how a value is to be divided there is a node of its own,
`ShardingConstraint`. Values do not depend on any of it.

The idea is GSPMD's (Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation Graphs",
2021), without its backward passes.
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

# For each axis of an array the axes of the mesh that it is divided along, major first.
Spec: TypeAlias = tuple[tuple[Any, ...], ...]


class SaysDivision(ABC):
    """Function of a node that defines its own sharding rule. It is never called.

    Attributes:
      key: of the node's operation; the same when the program is built once more.
    """

    key: Hashable

    def __call__(self, *_: np.ndarray) -> Any:
        raise RuntimeError("it stands in programs for sharding propagation only")

    @abstractmethod
    def of_results(self, operands: Sequence[Spec], extents: Mapping[Any, int]) -> list[Spec] | None:
        """How each result is divided, given the operands and the mesh's sizes; None: not at all."""

    @abstractmethod
    def of_operands(
        self, operands: Sequence[Spec], is_open: Sequence[bool], extents: Mapping[Any, int]
    ) -> list[Spec]:
        """Returns how operands are to be divided; those that `is_open` marks may be divided further."""


class PlacementBuilder(Builder):
    """Builds programs that are looked at for how their results are divided, and never run.

    Attributes:
      mesh: which the program is to be divided over.
      calls_on_parts: nodes of operations that are built otherwise for devices and their parts.
    """

    mesh: ClassVar[Mesh | AbstractMesh | None] = None
    calls_on_parts: ClassVar[list[ir.HostCall]] = []

    @classmethod
    def for_one_program(cls, mesh: Mesh | AbstractMesh | None) -> type[PlacementBuilder]:
        return type(cls.__name__, (cls,), {"mesh": mesh, "calls_on_parts": []})


class PartBuilder(Builder):
    """Builds programs in which some operations are done by each device, on its parts.

    Attributes:
      places: for each kind of such operations, in the order in which they are built, how the operands
        of each lie.
    """

    places: ClassVar[Mapping[Hashable, Iterator[Sequence[Sharding]]]]

    @classmethod
    def for_one_program(
        cls, places: Mapping[Hashable, Sequence[Sequence[Sharding]]]
    ) -> type[PartBuilder]:
        each = {key: iter(several) for key, several in places.items()}
        return type(cls.__name__, (cls,), {"places": each})

    def places_of(self, key: Hashable) -> Sequence[Sharding] | None:
        """How the operands of the next operation of a kind lie; None if it is within such a one."""
        return next(self.places.get(key, iter(())), None)


ANY_CALL = 0  # the kind of calls of Python functions


def kind_of(node: ir.HostCall) -> Hashable:
    """Returns the kind of an operation that is built otherwise for devices and their parts."""
    return node.fn.key if isinstance(node.fn, SaysDivision) else ANY_CALL


def propagate(
    region: ir.Region,
    specs: Sequence[Spec],
    extents: Mapping[Any, int],
    calls: dict[ir.HostCall, list[Spec]] | None = None,
) -> list[Spec]:
    """Returns how the results of `region` are divided.

    Args:
      region: the program.
      specs: how its parameters are, one for each.
      sizes: of the axes of the mesh.
      calls: gets the calls of Python functions, and how the operands of each are divided.
    """
    return _Propagation(extents, calls).region(region, specs)


def without(spec: Spec, names: Sequence[Any]) -> Spec:
    """`spec` without the axes `names` of the mesh."""
    return tuple([tuple([x for x in own if x not in names]) for own in spec])


def whole(ndim: int) -> Spec:
    """All of an array of `ndim` axes on each device."""
    return ((),) * ndim


def fitting(
    specs: Sequence[Spec] | None, shapes: Sequence[ir.Shape], extents: Mapping[Any, int]
) -> tuple[Spec, ...]:
    """`specs` of arrays of `shapes`, without what does not divide them evenly or is there twice."""
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


_SAID = (ir.Parameter, ir.ShardingConstraint)  # how their values lie is not to be changed


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
        """Into how many parts an axis is divided along the mesh's axes `names`."""
        return _parts(names, self.extents)

    def rule(self, node: ir.Node, xs: list[Spec]) -> Sequence[Spec] | None:
        """Returns how results are divided if operands are as `xs` says; None if they are whole."""
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
        """Merge the specs of a carry's first value and of the body's result, which has priority.

        The latter depends on the carry, so the body is analyzed to a fixed point, or as often as axes
        of the mesh may be added: carries that are exchanged give new specs each time. The stacked
        results of a loop that maps are divided along the rows as its operands are.
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
        """Returns how the carries of a loop are divided, whose first values are as `init` says."""
        carry = init
        for _ in range(len(self.extents) + 1):
            after = self.region(node.body, carry)
            both = [merged(pair, last_wins=True) for pair in zip(carry, after, strict=True)]
            if both == carry:
                break
            carry = both
        return carry


def wanted(sharding: ir.TensorSharding, inferred: Spec, extents: Mapping[Any, int]) -> Spec:
    """Return the spec of a value under a sharding constraint.

    Args:
      sharding: the constraint's.
      inferred: the spec of the value without the constraint. It is kept along open dimensions, and
        if the constraint refers to another mesh.
      sizes: of the axes of the mesh.
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
    """Merge specs of equal length.

    Of specs of an axis of which one is a prefix of the other, the longer one is taken. Where two
    conflict, the axis is whole, or as in the last spec if that has priority. A mesh axis that divides
    two axes stays with the first.
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
    """Groups of axes with equal products keep how their first axis is divided."""
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
    """An axis of the parts of one element comes or goes at the end."""
    return [(*xs[0], ())[: len(node.shape)]]


def _transpose(node: Any, xs: list[Spec]) -> list[Spec]:
    return [tuple([xs[0][k] for k in node.perm])]


def _update_slice(node: ir.DynamicUpdateSlice, xs: list[Spec]) -> list[Spec]:
    """As what is updated; an axis that is whole there, and written wholly, is divided as the update."""
    pairs = zip(xs[0], xs[1], node.x.shape, node.update.shape, strict=True)
    return [tuple([x or (update if n == m else ()) for x, update, n, m in pairs])]


def _where_whole(node: Any, xs: list[Spec]) -> list[Spec]:
    """Axes that are taken as a whole stay divided."""
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
