"""Traversal of the graph: operands of nodes, topological order, rebuilding with new operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder


def operands(node: ir.Node) -> tuple[ir.Node, ...]:
    """Returns the operands of `node`, in order."""
    kind = type(node)
    if kind is ir.Apply:
        return node.args  # type: ignore[attr-defined]  # faster than isinstance
    nodes: list[ir.Node] = []
    for name in ir.fields_of(kind).operands:
        value: ir.Node | tuple[ir.Node, ...] = getattr(node, name)
        if isinstance(value, tuple):
            nodes.extend(value)
        else:
            nodes.append(value)
    return tuple(nodes)


def regions(node: ir.Node) -> list[tuple[str, ir.Region]]:
    """Returns the regions of `node` with their printed names, such as `body`, `case0`, `case1`."""
    named: list[tuple[str, ir.Region]] = []
    for name in ir.fields_of(type(node)).regions:
        value: ir.Region | tuple[ir.Region, ...] | str | None = getattr(node, name)
        if isinstance(value, tuple):
            named += [(f"{name.removesuffix('s')}{i}", region) for i, region in enumerate(value)]
        elif isinstance(value, ir.Region):
            named.append((name, value))
    return named


def window_sizes(node: ir.Scatter) -> list[int]:
    """Returns the sizes of a scatter's windows along each axis of its operand."""
    dims = node.dims
    dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    extents = iter([node.updates.shape[k] for k in dims.update_window_dims])
    return [1 if axis in dropped else next(extents) for axis in range(len(node.x.shape))]


def roots(region: ir.Region) -> list[ir.Node]:
    """Returns the roots of `region`: its results and its nodes with effects."""
    return [*region.results, *region.ordered]


def storage_of(node: ir.Node) -> ir.Node:
    """Returns the node whose buffer `node` shares.

    Reshapes move no data, and a loop returns its invariant carries unchanged.
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


def reachable(results: Iterable[ir.Node]) -> dict[int, ir.Node]:
    """Returns all nodes that `results` depend on, keyed by `Node.id`, in no particular order."""
    nodes: dict[int, ir.Node] = {}
    stack = list(results)
    while stack:
        node = stack.pop()
        if node.id not in nodes:
            nodes[node.id] = node
            stack.extend(operands(node))
    return nodes


def topological_order(results: Iterable[ir.Node]) -> list[ir.Node]:
    """Returns all nodes that `results` depend on, in order of construction: operands come first."""
    needed = reachable(results)
    return [needed[i] for i in sorted(needed)]


def count_uses(nodes: Iterable[ir.Node], results: Iterable[ir.Node]) -> dict[ir.Node, int]:
    """Returns the number of uses of each of `nodes` as an operand or a result."""
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
    """Rebuilds `node` in `b`, with each operand replaced by `new(operand)`.

    Returns the new node, or a list of nodes if `node` has several results.
    """
    kind = type(node)
    return (_rebuilders.get(kind) or _rebuilder(kind))(b, node, new)


def rebuild_all(
    b: Builder,
    results: Iterable[ir.Node],
    new: MutableMapping[ir.Node, Any],
    make: Callable[[ir.Node], Any] | None = None,
) -> None:
    """Rebuilds in `b` all nodes that `results` depend on.

    Args:
      b: the builder.
      results: nodes of the old graph.
      new: maps old nodes to new ones. Initially it contains the parameters and any nodes to be
        replaced; the nodes that are built are added to it, as a list for a node with several
        results.
      make: a function that builds the replacement of one old node, whose operands are already in
        `new`; `rebuild` if None.
    """
    for node in topological_order(results):
        if node in new:
            continue
        if isinstance(node, ir.Project):
            new[node] = new[node.node][node.index]
        else:
            b.origin = node.origin
            new[node] = rebuild(b, node, new.__getitem__) if make is None else make(node)


def with_regions(node: ir.Node, change: Callable[[ir.Region], ir.Region]) -> ir.Node:
    """Returns `node` with `change` applied to its regions if it is a loop or conditional."""
    match node:
        case ir.While():
            rebuilt = ir.While(node.type, node.id, change(node.cond), change(node.body), node.init)
        case ir.Cond():
            cases = tuple([change(region) for region in node.cases])
            rebuilt = ir.Cond(node.type, node.id, node.index, cases, node.args)
        case _:
            return node
    rebuilt.origin = node.origin
    return rebuilt


def rewrite(
    region: ir.Region, make: Callable[[Builder, ir.Node, MutableMapping[ir.Node, Any]], Any]
) -> ir.Region:
    """Returns `region` rebuilt, with `make` in place of `rebuild` for each node.

    `make(b, node, new)` builds the replacement of `node` in `b`, with operands from `new`.
    """
    b = Builder()
    new: dict[ir.Node, Any] = {}
    for p in region.parameters:
        new[p] = b.parameter(p.index, p.tensor_type)
    rebuild_all(b, roots(region), new, lambda node: make(b, node, new))
    results = tuple([new[r] for r in region.results])
    return ir.Region(tuple([new[p] for p in region.parameters]), results, tuple(b.ordered))


# Builder methods that are not named after the kind of node.
_METHODS: dict[type[ir.Node], str] = {ir.While: "while_", ir.Apply: "apply_again"}
_rebuilders: dict[type, Callable[[Builder, Any, _Map], Any]] = {}


def _rebuilder(kind: type[ir.Node]) -> Callable[[Builder, Any, _Map], Any]:
    """Returns a function (builder, node, new) that rebuilds a node of `kind`.

    It calls the builder's method, whose parameters are named after the fields; `shape`, `dtype` and
    `types` are taken from the node. For speed, the function is generated as source text, once per
    kind: every pass rebuilds most nodes of a program.
    """
    rebuilder = _rebuilders.get(kind)
    if rebuilder is None:
        fields = ir.fields_of(kind)
        method = builder_method(kind)
        arguments: list[str] = []
        for name in builder_parameters(kind):
            if name in fields.several:
                arguments.append(f"tuple([new(x) for x in n.{name}])")
            elif name in fields.operands:
                arguments.append(f"new(n.{name})")
            else:
                arguments.append("n.type" if name in ("types", "type_") else f"n.{name}")
        source = f"lambda b, n, new: b.{method}({', '.join(arguments)})"
        rebuilder = _rebuilders[kind] = eval(source)
    return rebuilder


def builder_method(kind: type[ir.Node]) -> str:
    """Returns the name of the builder's method that creates nodes of `kind`."""
    return _METHODS.get(kind, ir.kind_name(kind))


def builder_parameters(kind: type[ir.Node]) -> tuple[str, ...]:
    """Returns the names of the parameters of the builder's method for `kind`."""
    code = getattr(Builder, builder_method(kind)).__code__
    return code.co_varnames[1 : code.co_argcount]


def scalar_value(node: ir.Node) -> Any:
    """Returns the common value of all elements of a constant or broadcast constant, as a scalar.

    Returns None for other nodes.
    """
    while isinstance(node, ir.Broadcast | ir.Reshape):
        node = node.x
    if isinstance(node, ir.Constant) and node.value.size == 1:
        return node.value.reshape(-1)[0]
    return None
