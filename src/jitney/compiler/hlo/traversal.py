"""Walks over the graph: operands of a node, a node with other operands, orders of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder

# How each kind of node keeps its operands: names of fields that hold a node, or a tuple of nodes.
_FIELDS: dict[type, tuple[str, ...]] = {
    ir.Parameter: (),
    ir.Constant: (),
    ir.Iota: (),
    ir.Apply: ("args",),
    ir.Broadcast: ("x",),
    ir.Reshape: ("x",),
    ir.Transpose: ("x",),
    ir.Slice: ("x",),
    ir.Reverse: ("x",),
    ir.Pad: ("x", "value"),
    ir.Concatenate: ("parts",),
    ir.Bitcast: ("x",),
    ir.DynamicSlice: ("x", "starts"),
    ir.DynamicUpdateSlice: ("x", "update", "starts"),
    ir.Gather: ("x", "indices"),
    ir.Scatter: ("x", "indices", "updates"),
    ir.Reduce: ("x",),
    ir.ArgReduce: ("x",),
    ir.ReduceRegion: ("xs", "inits"),
    ir.Cumulative: ("x",),
    ir.Dot: ("x", "y"),
    ir.Sort: ("xs",),
    ir.TopK: ("x",),
    ir.Cond: ("index", "args"),
    ir.While: ("init",),
    ir.LibraryCall: ("args",),
    ir.HostCall: ("args",),
    ir.Fence: ("args",),
    ir.Project: ("node",),
}


def operand_fields(kind: type) -> tuple[str, ...]:
    """The names of the fields in which nodes of `kind` keep their operands."""
    return _FIELDS[kind]


def operands(node: ir.Node) -> tuple[ir.Node, ...]:
    """The nodes that `node` is computed from, in order."""
    kind = type(node)
    if kind is ir.Apply:
        return node.args  # type: ignore[attr-defined]
    found: list[ir.Node] = []
    for name in _FIELDS[kind]:
        value = getattr(node, name)
        if isinstance(value, tuple):
            found.extend(value)
        else:
            found.append(value)
    return tuple(found)


def regions(node: ir.Node) -> list[tuple[str, ir.Region]]:
    """The regions of `node`, by the names they are printed with."""
    match node:
        case ir.Cond():
            return [(f"case{i}", region) for i, region in enumerate(node.branches)]
        case ir.While():
            return [("cond", node.cond), ("body", node.body)]
        case ir.ReduceRegion():
            return [("body", node.body)]
        case ir.Scatter() if isinstance(node.combine, ir.Region):
            return [("combine", node.combine)]
        case _:
            return []


def window_sizes(node: ir.Scatter) -> list[int]:
    """Extent of a scatter's windows along each axis of its operand."""
    dims = node.dims
    dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    extents = iter([node.updates.shape[k] for k in dims.update_window_dims])
    return [1 if axis in dropped else next(extents) for axis in range(len(node.x.shape))]


def roots(region: ir.Region) -> list[ir.Node]:
    """What `region` is there for: its results, and what is done for its effect."""
    return [*region.results, *region.ordered]


def storage_of(node: ir.Node) -> ir.Node:
    """The node whose value `node` has, element by element, in the same memory.

    Reshapes move nothing, and a loop gives what it never changes back as it was.
    """
    while True:
        match node:
            case ir.Reshape() | ir.Bitcast():
                node = node.x
            case ir.Project(node=ir.While() as loop) if _hands_on(loop.body, node.index):
                node = loop.init[node.index]
            case _:
                return node


def _hands_on(body: ir.Region, index: int) -> bool:
    return body.results[index] is body.parameters[index]


def topological_order(results: Iterable[ir.Node]) -> list[ir.Node]:
    """All nodes that `results` depend on, operands first, in order of construction."""
    needed: dict[int, ir.Node] = {}
    stack = list(results)
    while stack:
        node = stack.pop()
        if node.id not in needed:
            needed[node.id] = node
            stack.extend(operands(node))
    return [needed[i] for i in sorted(needed)]


def count_uses(nodes: Iterable[ir.Node], results: Iterable[ir.Node]) -> dict[ir.Node, int]:
    """How often each of `nodes` is an operand or a result."""
    uses = dict.fromkeys(nodes, 0)
    for node in uses:
        for x in operands(node):
            uses[x] += 1
    for node in results:
        uses[node] += 1
    return uses


# --- rebuilding ---------------------------------------------------------------------------------

_Map = Callable[[ir.Node], ir.Node]


def rebuild(b: Builder, node: ir.Node, new: _Map) -> Any:
    """`node` built in `b` with operands `new(operand)`; a list where it has several results."""
    return _rebuilders[type(node)](b, node, new)


def rebuild_all(
    b: Builder,
    results: Iterable[ir.Node],
    new: MutableMapping[ir.Node, Any],
    make: Callable[[ir.Node], Any] | None = None,
) -> None:
    """Builds in `b` all that `results` depend on.

    Args:
      b: the builder.
      results: old nodes.
      new: what there is already for old nodes: parameters, and any that are replaced. Gets what is
        built: a node, or a list of them for a node with several results.
      make: builds one node, whose operands are in `new`; `rebuild` if None.
    """
    for node in topological_order(results):
        if node in new:
            continue
        if isinstance(node, ir.Project):
            new[node] = new[node.node][node.index]
        else:
            new[node] = rebuild(b, node, new.__getitem__) if make is None else make(node)


def with_regions(node: ir.Node, change: Callable[[ir.Region], ir.Region]) -> ir.Node:
    """The loop or conditional `node` with its regions changed; any other node as it is."""
    match node:
        case ir.While():
            return ir.While(node.type, node.id, change(node.cond), change(node.body), node.init)
        case ir.Cond():
            branches = tuple([change(region) for region in node.branches])
            return ir.Cond(node.type, node.id, node.index, branches, node.args)
        case _:
            return node


def rewrite(
    region: ir.Region, make: Callable[[Builder, ir.Node, MutableMapping[ir.Node, Any]], Any]
) -> ir.Region:
    """`region` built anew: `make(b, node, new)` builds a node in `b`, its operands are in `new`."""
    b = Builder()
    new: dict[ir.Node, Any] = {}
    for p in region.parameters:
        new[p] = b.parameter(p.index, p.type)  # type: ignore[arg-type]
    rebuild_all(b, roots(region), new, lambda node: make(b, node, new))
    results = tuple([new[r] for r in region.results])
    return ir.Region(tuple([new[p] for p in region.parameters]), results, tuple(b.ordered))


def _each(nodes: Sequence[ir.Node], new: _Map) -> tuple[ir.Node, ...]:
    return tuple([new(x) for x in nodes])


def _rebuild_apply(b: Builder, n: Any, new: _Map) -> ir.Node:
    if n.fn == "convert":
        return b.convert(new(n.args[0]), n.dtype)
    if n.fn == "bitcast":
        return b.bitcast(new(n.args[0]), n.dtype)
    return b.apply(n.fn, *[new(a) for a in n.args])


_rebuilders: dict[type, Callable[[Builder, Any, _Map], Any]] = {
    ir.Parameter: lambda b, n, new: b.parameter(n.index, n.type),
    ir.Constant: lambda b, n, new: b.constant(n.value),
    ir.Iota: lambda b, n, new: b.iota(n.dtype, n.shape, n.dim),
    ir.Apply: _rebuild_apply,
    ir.Broadcast: lambda b, n, new: b.broadcast(new(n.x), n.shape, n.dims),
    ir.Reshape: lambda b, n, new: b.reshape(new(n.x), n.shape),
    ir.Transpose: lambda b, n, new: b.transpose(new(n.x), n.perm),
    ir.Slice: lambda b, n, new: b.slice(new(n.x), n.starts, n.limits, n.strides),
    ir.Reverse: lambda b, n, new: b.reverse(new(n.x), n.dims),
    ir.Pad: lambda b, n, new: b.pad(new(n.x), new(n.value), n.low, n.high, n.interior),
    ir.Concatenate: lambda b, n, new: b.concatenate(_each(n.parts, new), n.dim),
    ir.Bitcast: lambda b, n, new: b.bitcast(new(n.x), n.dtype),
    ir.DynamicSlice: lambda b, n, new: b.dynamic_slice(new(n.x), _each(n.starts, new), n.sizes),
    ir.DynamicUpdateSlice: lambda b, n, new: b.dynamic_update_slice(
        new(n.x), new(n.update), _each(n.starts, new)
    ),
    ir.Gather: lambda b, n, new: b.gather(
        new(n.x), new(n.indices), n.dims, n.slice_sizes, n.mode, n.fill
    ),
    ir.Scatter: lambda b, n, new: b.scatter(
        new(n.x), new(n.indices), new(n.updates), n.dims, n.combine, n.mode, n.unique
    ),
    ir.Reduce: lambda b, n, new: b.reduce(new(n.x), n.fn, n.dims, n.in_order),
    ir.ArgReduce: lambda b, n, new: b.arg_reduce(new(n.x), n.kind, n.dim, n.dtype),
    ir.ReduceRegion: lambda b, n, new: b.reduce_region(
        _each(n.xs, new), _each(n.inits, new), n.dims, n.body
    ),
    ir.Cumulative: lambda b, n, new: b.cumulative(new(n.x), n.fn, n.dim, n.reverse),
    ir.Dot: lambda b, n, new: b.dot(new(n.x), new(n.y), n.contract, n.batch, n.dtype),
    ir.Sort: lambda b, n, new: b.sort(_each(n.xs, new), n.dim, n.num_keys, n.stable),
    ir.TopK: lambda b, n, new: b.top_k(new(n.x), n.k, n.dim),
    ir.Cond: lambda b, n, new: b.cond(new(n.index), n.branches, _each(n.args, new)),
    ir.While: lambda b, n, new: b.while_(n.cond, n.body, _each(n.init, new)),
    ir.LibraryCall: lambda b, n, new: b.library_call(n.routine, _each(n.args, new), n.type),
    ir.HostCall: lambda b, n, new: b.host_call(n.name, n.fn, _each(n.args, new), n.type, n.ordered),
    ir.Fence: lambda b, n, new: b.fence(_each(n.args, new)),
}
