"""The partitioner: turns a program over a mesh into the program that each device runs (SPMD).

Nodes are processed in order. Each is sharded in the cheapest of the ways that its operands suggest
(`factors`), and the operands are resharded accordingly. The cost is the number of bytes that a
device sends, plus its operations, converted to bytes. Three things keep traffic low:

- A sum over a sharded axis stays a *partial sum* until it is used. If its user needs only a shard,
  a reduce-scatter suffices instead of an all-reduce.
- A value computed from replicated values, such as constants, indices and random bits, is *free*: it
  is built on demand, for the shard that is needed.
- A value that has been moved for one node is available to others: the builder returns the same
  nodes again, and they cost nothing.

Results are bitwise equal to those of the original program, unless a reduction is sharded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, map_loops, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.index_map import related_operands

# These modules register rules when they are imported.
from jitney.compiler.hlo.partition import halos as halos, indexed as indexed, rules, scans as scans
from jitney.compiler.hlo.partition.counters import hoist_reshapes
from jitney.compiler.hlo.partition.factors import Division, Factors, factors_of
from jitney.compiler.hlo.partition.layout import Mesh, Names
from jitney.compiler.hlo.partition.movement import Movement, Partial
from jitney.compiler.hlo.partition.traffic import sent, work
from jitney.compiler.hlo.sharding_propagation import Spec, propagate, wanted, whole, without
from jitney.core.util.record import record, replace

# Nodes cheap enough to be computed for shards on demand if their operands are replicated.
_FREE = (ir.Iota, ir.Apply, ir.Broadcast, ir.Reshape, ir.Transpose)


@record(eq=False)
class Value:
    """A tensor of the original program in the program of one device.

    Attributes:
      shape: its global shape.
      spec: its sharding.
      node: the device's shard; None if it is free.
      partial: the reduction that it still needs; None if it is complete.
      make: builds the shard of a free value for a spec.
      needs: returns, for a spec, the other values from which that shard is built, and their specs.
    """

    shape: ir.Shape
    spec: Spec
    node: ir.Node | None = None
    partial: Partial | None = None
    make: Callable[[Spec], ir.Node] | None = None
    needs: Callable[[Spec], Sequence[tuple[Value, Spec]]] = lambda spec: ()


Values: TypeAlias = "Value | list[Value]"


@record(frozen=True, eq=False)
class Partitioned:
    """The program of one device, and the shardings of its operands and results."""

    module: ir.Module
    mesh: Mesh
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]


def partition(
    module: ir.Module,
    in_specs: Sequence[Sequence[Sequence[object]]],
    extents: Mapping[str, int],
    out_specs: Sequence[Sequence[Sequence[object]] | None] | None = None,
) -> Partitioned:
    """Returns the program that each device of a mesh runs so that all together compute `module`.

    Args:
      module: the program, as lowered or simplified.
      in_specs: for each operand, for each of its axes, the mesh axes that it is sharded along.
      extents: sizes of the mesh axes, in the order in which devices are numbered.
      out_specs: the same for results. None, for one result or for all, selects the shardings that
        propagation infers.

    Raises:
      ValueError: if a spec does not divide its tensor evenly, or if the program already has
        collectives of several participants.
    """
    mesh = Mesh({str(name): n for name, n in extents.items()})
    region = module.region
    ins = [mesh.normal(spec, p.shape) for spec, p in zip(in_specs, region.parameters, strict=True)]
    wanted = (None,) * len(region.results) if out_specs is None else out_specs
    propagated = propagate(region, ins, mesh.extents) if None in wanted else ()
    outs = [
        mesh.normal(propagated[i] if spec is None else spec, r.shape)
        for i, (spec, r) in enumerate(zip(wanted, region.results, strict=True))
    ]
    new, _ = _Region(mesh).run(region, ins, outs)
    return Partitioned(replace(module, region=new), mesh, tuple(ins), tuple(outs))


class _Region:
    """Partitions one region."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.b = Builder()
        self.m = Movement(self.b, mesh)
        self.values: dict[ir.Node, Values] = {}
        self.done: set[ir.Node] = set()  # nodes that are part of the program so far
        # Shards of free values. It keeps the values alive: rules create some that are not in
        # `values`.
        self.made: dict[tuple[Value, Spec], ir.Node] = {}
        self.wanted: dict[ir.Node, Spec] = {}  # required specs of results of the region

    def run(
        self, region: ir.Region, specs: Sequence[Spec], wanted: Sequence[Spec] | None
    ) -> tuple[ir.Region, list[Spec]]:
        """Returns the region for shards, and the specs of its results.

        The specs are `wanted`, or the inferred ones if `wanted` is None.
        """
        region = hoist_reshapes(region)
        if wanted is not None:
            self.wanted = dict(zip(region.results, wanted, strict=True))
        parameters: list[ir.Parameter] = []
        for p, spec in zip(region.parameters, specs, strict=True):
            local = ir.TensorType(self.mesh.local(p.shape, spec), p.dtype)
            parameters.append(self.b.parameter(p.index, local))
            self.values[p] = self.given(p, parameters[-1], spec)
        for node in self.read(region):
            if node not in self.values:
                self.values[node] = self.divide(node)
        results: list[ir.Node] = []
        result_specs: list[Spec] = []
        for k, result in enumerate(region.results):
            value = self.value(result)
            result_specs.append(value.spec if wanted is None else wanted[k])
            results.append(self.at(value, result_specs[k]))
        new = ir.Region(tuple(parameters), tuple(results), tuple(self.b.ordered))
        return new, result_specs

    # --- values -----------------------------------------------------------------------------------

    def read(self, region: ir.Region) -> list[ir.Node]:
        """Returns the nodes that the region's results depend on, in order.

        Slices that are only parts of a roll are excluded, because the roll reads the operand of the
        slices. Otherwise, the cost of moving the slices would be counted, and other uses of them
        would appear free.
        """
        nodes: dict[ir.Node, None] = {}
        stack = traversal.roots(region)
        while stack:
            node = stack.pop()
            if node not in nodes:
                nodes[node] = None
                is_sharded = not _is_empty(node) and factors_of(node) is not None
                stack += related_operands(node) if is_sharded else traversal.operands(node)
        return sorted(nodes, key=lambda node: node.id)

    def value(self, node: ir.Node) -> Value:
        value = self.values[node]
        assert isinstance(value, Value)
        return value

    def given(self, old: ir.Node, node: ir.Node, spec: Spec) -> Value:
        """Returns the value of `old`, whose shard is `node`."""
        self.keep([node])
        return Value(old.shape, spec, node)

    def at(self, value: Value, spec: Spec) -> ir.Node:
        """Returns the shard of `value` for `spec`, by the cheapest resharding."""
        if value.make is not None:
            return self.freely(value, spec)
        assert value.node is not None
        if value.spec == spec and value.partial is None:
            return value.node
        ways = [*self.m.ways(value.node, value.spec, spec, value.partial)]
        return min(ways, key=lambda node: self.cost([node]))

    def freely(self, value: Value, spec: Spec) -> ir.Node:
        """Returns the shard of a free value.

        The values that it depends on are built first, without recursion.
        """
        stack = [(value, spec)]
        while stack:
            v, s = stack[-1]
            if (v, s) in self.made:
                stack.pop()
                continue
            parts = [(x, t) for x, t in v.needs(s) if x.make and (x, t) not in self.made]
            stack += reversed(parts)
            if not parts:
                assert v.make is not None
                self.made[v, s] = v.make(s)
        return self.made[value, spec]

    def keep(self, nodes: Sequence[ir.Node]) -> None:
        """Makes `nodes`, and all nodes that they depend on, part of the program."""
        self.done.update(self.new(nodes))

    def new(self, nodes: Sequence[ir.Node]) -> list[ir.Node]:
        """Returns `nodes`, and nodes that they depend on, that are not part of the program yet."""
        missing: dict[ir.Node, None] = {}
        stack = [*nodes]
        while stack:
            node = stack.pop()
            if node not in missing and node not in self.done:
                missing[node] = None
                stack += traversal.operands(node)
        return [*missing]

    def cost(self, nodes: Sequence[ir.Node]) -> float:
        """Returns the cost of adding `nodes` to the program, in bytes.

        A device sends that number of bytes in the time that the nodes take.
        """
        new = self.new(nodes)
        traffic = sum([sent(node) for node in new if isinstance(node, ir.Collective)])
        return traffic + sum([work(node) for node in new]) * COSTS.bytes_per_operation

    # --- nodes ------------------------------------------------------------------------------------

    def divide(self, node: ir.Node) -> Values:
        """Returns the value of a node whose operands have values."""
        match node:
            case ir.Project():
                results = self.values[node.node]
                assert isinstance(results, list)
                return results[node.index]
            case ir.Constant():
                return self.constant(node)
            case ir.While():
                return self.loop(node)
            case ir.Cond():
                return self.branches(node)
            case ir.OptimizationBarrier():
                return self.optimization_barrier(node)
            case ir.ShardingConstraint():
                return self.constrained(node)
            case _:
                pass
        if isinstance(node, ir.Collective) and node.axes:
            raise ValueError(f"partition: the program already contains a collective, {node.kind}")
        factors = factors_of(node)
        if factors is None or _is_empty(node):
            return self.undivided(node)
        values = [self.value(x) for x in related_operands(node)]
        free = [v.make is not None or (not any(v.spec) and v.partial is None) for v in values]
        if isinstance(node, _FREE) and all(free):
            return self.free(node, factors, values)
        if isinstance(node, ir.Apply) and (total := self.sum_of_partials(node, values)):
            return total
        return self.cheapest(node, factors, values, free)

    def constant(self, node: ir.Constant) -> Value:
        def make(spec: Spec) -> ir.Node:
            return self.m.moved(self.b.constant(node.value), whole(len(node.shape)), spec)

        return Value(node.shape, whole(len(node.shape)), make=make)

    def sum_of_partials(self, node: ir.Apply, values: Sequence[Value]) -> Value | None:
        """Returns the sum of partial sums over the same devices, which is partial itself.

        One reduction then suffices for all of them. Returns None if the operands are not such sums,
        or have already been reduced.
        """
        first = values[0]
        if first.partial is None or first.partial.fn != node.fn:
            return None
        parts: list[ir.Node] = []
        for v in values:
            if v.partial != first.partial or v.spec != first.spec or v.node is None:
                return None
            parts.append(v.node)
        if not self.cost([self.at(v, v.spec) for v in values]):  # they have been reduced already
            return None
        part = self.b.apply(node.fn, *parts)
        self.keep([part])
        return Value(node.shape, first.spec, part, first.partial)

    def free(self, node: ir.Node, factors: Factors, values: Sequence[Value]) -> Value:
        """Returns a value that is built on demand for the shard that is needed, without traffic."""

        def division_for(spec: Spec) -> Division:
            division = factors.map.read(factors.map.results[0], spec, self.mesh.parts)
            return division if factors.is_possible(division, self.mesh) else {}

        def needs(spec: Spec) -> Sequence[tuple[Value, Spec]]:
            return [*zip(values, factors.operand_specs(division_for(spec), self.mesh), strict=True)]

        def make(spec: Spec) -> ir.Node:
            division = division_for(spec)
            built_spec = factors.result_specs(division, self.mesh)[0]
            return self.m.moved(self.build(node, factors, values, division)[0], built_spec, spec)

        return Value(node.shape, whole(len(node.shape)), make=make, needs=needs)

    def build(
        self, node: ir.Node, factors: Factors, values: Sequence[Value], division: Division
    ) -> list[ir.Node]:
        """Returns the shards of the results of a node that is sharded as `division` states."""
        operands = [
            self.at(value, spec)
            for value, spec in zip(values, factors.operand_specs(division, self.mesh), strict=True)
        ]
        shapes = [
            self.mesh.local(t.shape, spec)
            for t, spec in zip(_types(node), factors.result_specs(division, self.mesh), strict=True)
        ]
        built = factors.build(self.m, operands, division, shapes)
        return built if isinstance(built, list) else [built]

    def cheapest(
        self, node: ir.Node, factors: Factors, values: Sequence[Value], free: Sequence[bool]
    ) -> Values:
        """Returns the value of a node, sharded in the cheapest way."""
        specs = [
            None if is_free else value.spec for value, is_free in zip(values, free, strict=True)
        ]
        best: tuple[float, list[ir.Node], Division] | None = None
        for division, moved in factors.divisions(specs, self.mesh):
            parts = self.build(node, factors, values, division)
            partial = self.partial(factors, division)
            complete = parts if partial is None else [self.m.reduced(x, partial) for x in parts]
            # Consumers of the results are likely to need them sharded like the operands.
            back = sum([x.tensor_type.nbytes for x in parts]) * (moved - 1) / moved
            cost = self.cost(complete) + back
            if best is None or cost < best[0]:
                best = cost, parts, division
        assert best is not None
        _, parts, division = best
        self.keep(parts)
        partial = self.partial(factors, division)
        results = [
            Value(t.shape, spec, part, partial)
            for t, spec, part in zip(
                _types(node), factors.result_specs(division, self.mesh), parts, strict=True
            )
        ]
        return results if isinstance(node.type, tuple) else results[0]

    def partial(self, factors: Factors, division: Division) -> Partial | None:
        """Returns the reduction that results still need, or None."""
        divided = [f for f in factors.map.reduced if f in division]
        if not divided:
            return None
        names = tuple([name for f in divided for name in division[f]])
        return Partial(factors.map.reduced[divided[0]], names)

    def undivided(self, node: ir.Node) -> Values:
        """Returns the value of a node that is replicated: each device computes all of it."""
        new: dict[ir.Node, ir.Node] = {}
        for x in traversal.operands(node):
            new[x] = self.at(self.value(x), whole(len(x.shape)))
        parts = rules.rebuilt(self.b, node, new)
        self.keep(parts)
        results = [
            Value(t.shape, whole(len(t.shape)), part)
            for t, part in zip(_types(node), parts, strict=True)
        ]
        return results if isinstance(node.type, tuple) else results[0]

    # --- control ----------------------------------------------------------------------------------

    def constrained(self, node: ir.ShardingConstraint) -> Value:
        """Returns the operand, resharded (or built, if it is free) as the user specified.

        A dimension that mesh axes do not divide evenly is replicated. A sum that the user requires
        to stay unreduced is not reduced.
        """
        value = self.value(node.x)
        asked = wanted(node.sharding, value.spec, self.mesh.extents)
        pairs = zip(asked, node.shape, strict=True)
        even = [names if n % self.mesh.parts(names) == 0 else () for names, n in pairs]
        spec = self.mesh.normal(even, node.shape)
        partial = set(() if value.partial is None else value.partial.names)
        if partial and spec == value.spec and partial.issubset(node.sharding.unreduced):
            return value
        part = self.at(value, spec)
        self.keep([part])
        return Value(node.shape, spec, part)

    def optimization_barrier(self, node: ir.OptimizationBarrier) -> list[Value]:
        values = [self.value(x) for x in node.args]
        parts = self.b.optimization_barrier([self.at(v, v.spec) for v in values])
        return [Value(v.shape, v.spec, part) for v, part in zip(values, parts, strict=True)]

    def loop(self, node: ir.While) -> list[Value]:
        """Returns the values of a loop's results.

        A carry has the sharding of its initial value along the axes on which the body's result
        agrees with it. A free initial value has the sharding that is required of the final value,
        or else that of the body's result.
        """
        values = [self.value(x) for x in node.init]
        mapped = map_loops.as_map(node)
        if mapped is not None:
            names = next((names for k in mapped.sliced if (names := values[k].spec[0])), ())
            if names:
                return self.map(node, mapped, values, names)
        ends = [(x, spec) for x, spec in self.wanted.items() if isinstance(x, ir.Project)]
        last = {x.index: spec for x, spec in ends if x.node is node}
        parts, specs = self.loop_over(node, values, self.mesh, last)
        return self.results(node, parts, specs)

    def loop_over(
        self,
        node: ir.While,
        values: Sequence[Value],
        mesh: Mesh,
        last: Mapping[int, Spec] = {},
    ) -> tuple[list[ir.Node], list[Spec]]:
        """Returns the results of a loop with initial values `values`, and their specs on `mesh`.

        `last` maps the indices of some results to the specs that they require.
        """
        free = [v.make is not None for v in values]
        first, carry = True, [v.spec for v in values]
        carry = [last.get(k, spec) if free[k] else spec for k, spec in enumerate(carry)]
        while True:
            _, after = _Region(mesh).run(node.body, carry, None)
            agreed = [
                b if first and free[k] and k not in last else _common(carry[k], b)
                for k, b in enumerate(after)
            ]
            if agreed == carry:
                break
            carry, first = agreed, False
        body, _ = _Region(mesh).run(node.body, carry, carry)
        cond, _ = _Region(mesh).run(node.cond, carry, [()])
        init = [self.at(v, spec) for v, spec in zip(values, carry, strict=True)]
        self.keep(init)
        return self.b.while_(cond, body, init), carry

    def map(
        self, node: ir.While, loop: map_loops.MapLoop, values: Sequence[Value], names: Names
    ) -> list[Value]:
        """Returns the values of a map loop that is sharded along `names`.

        Each device runs one iteration per local row. Within the loop, devices that differ along
        `names` process different rows, so nothing is sharded along these axes there.
        """
        count = loop.counted.count // self.mesh.parts(names)
        inner = Mesh({x: n for x, n in self.mesh.extents.items() if x not in names})
        local = map_loops.for_rows(node, loop, self.mesh.parts(names))

        def rows(value: Value) -> Value:
            """Returns the device's rows of a mapped carry, as a separate value."""
            shape, spec = (count, *value.shape[1:]), ((), *without(value.spec[1:], names))
            if value.make is not None:
                return Value(shape, spec, make=lambda spec: self.at(value, (names, *spec[1:])))
            part = self.at(value, (names, *spec[1:]))
            return Value(shape, spec, part)

        def same(value: Value) -> Value:
            if value.make is not None:
                return value
            spec = without(value.spec, names)
            return Value(value.shape, spec, self.at(value, spec))

        init = [rows(v) if k in loop.mapped else same(v) for k, v in enumerate(values)]
        counter = node.body.parameters[loop.counted.counter]
        first = self.b.convert(self.m.offset(names, count), counter.dtype)
        if loop.is_backwards:
            last = self.b.constant(np.array(loop.counted.count - count, counter.dtype))
            first = self.b.apply("sub", last, first)
        after = {loop.counted.counter: self.b.constant(np.array(loop.counted.count, counter.dtype))}
        for k, step in loop.steps.items():
            start = self.at(init[k], ())
            at, end = [
                self.b.apply("mul", self.b.convert(i, start.dtype), self.b.constant(step))
                for i in (first, after[loop.counted.counter])
            ]
            init[k] = Value((), (), self.b.apply("add", start, at))
            after[k] = self.b.apply("add", start, end)
        parts, specs = self.loop_over(local, [*init, Value((), (), first)], inner)
        specs = [(names, *s[1:]) if k in loop.mapped else s for k, s in enumerate(specs[:-1])]
        parts = [after.get(k, part) for k, part in enumerate(parts[:-1])]
        return self.results(node, parts, specs)

    def branches(self, node: ir.Cond) -> list[Value]:
        """Returns the values of a conditional.

        Operands keep their shardings; results are sharded where all branches agree.
        """
        values = [self.value(x) for x in node.args]
        specs = [v.spec for v in values]
        natural = [_Region(self.mesh).run(case, specs, None)[1] for case in node.cases]
        agreed = list(natural[0])
        for other in natural[1:]:
            agreed = [_common(a, b) for a, b in zip(agreed, other, strict=True)]
        cases = [_Region(self.mesh).run(case, specs, agreed)[0] for case in node.cases]
        index = self.at(self.value(node.index), ())
        args = [self.at(v, spec) for v, spec in zip(values, specs, strict=True)]
        self.keep([index, *args])
        return self.results(node, self.b.cond(index, cases, args), agreed)

    def results(
        self, node: ir.Node, parts: Sequence[ir.Node], specs: Sequence[Spec]
    ) -> list[Value]:
        self.keep(parts)
        return [
            Value(t.shape, spec, part)
            for t, spec, part in zip(_types(node), specs, parts, strict=True)
        ]


def _types(node: ir.Node) -> tuple[ir.TensorType, ...]:
    return node.type if isinstance(node.type, tuple) else (node.type,)


def _is_empty(node: ir.Node) -> bool:
    """Returns whether the node or one of its operands has no elements, so nothing to shard."""
    types = [t for x in (node, *traversal.operands(node)) for t in _types(x)]
    return any([0 in t.shape for t in types])


def _common(a: Spec, b: Spec) -> Spec:
    return tuple([x if x == y else () for x, y in zip(a, b, strict=True)])
