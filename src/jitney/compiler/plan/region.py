"""Plans a region: allocates buffers for values, and builds kernels for fused groups.

Nodes that are not part of kernels are planned by rules (`single_nodes`, `loops`), which `build`
passes to the planner. Nodes without a rule are computed by their reference implementations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from jitney.compiler import blas, library
from jitney.compiler.cost import COSTS
from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import interpret, ir as hlo, node_calls, traversal
from jitney.compiler.hlo.contractions import is_small_dot
from jitney.compiler.hlo.traversal import operands
from jitney.compiler.kernels.build import (
    PARTS,
    CrossingError,
    KernelBuilder,
    UnresolvedError,
)
from jitney.compiler.kernels.ir import Kernel, accumulator, kernel_key
from jitney.compiler.kernels.schedule import collapse
from jitney.compiler.kernels.split_reduction import split_fold
from jitney.compiler.kernels.tiles import tiled
from jitney.compiler.kernels.unroll import unroll_and_jam, write_out_short_axes
from jitney.compiler.plan import fourier, fourier_kernels, ir, parts, reductions
from jitney.compiler.plan.fourier_kernels import Plane
from jitney.compiler.plan.inplace import Updated, updated_in_place
from jitney.compiler.plan.scatter import has_kernel
from jitney.core.util import float_errors

_LEAVES = (hlo.Parameter, hlo.Constant)
_UPDATES = (hlo.DynamicUpdateSlice, hlo.Scatter)

Written = TypeVar("Written")

Supports = Callable[[str, Sequence[np.dtype], np.dtype], bool]

Rule = Callable[["RegionPlan", Any], bool]
"""A function that adds the steps of a node to a plan and returns True, or else returns False."""


def _index_dtypes(node: hlo.Node) -> list[np.dtype]:
    """Returns the dtypes of the indices with which `node` reads or writes."""
    match node:
        case hlo.Gather() | hlo.Scatter():
            return [node.indices.dtype]
        case hlo.DynamicSlice() | hlo.DynamicUpdateSlice():
            return [start.dtype for start in node.starts]
        case _:
            return []


class Planner:
    """The state that is shared by all regions of a program."""

    def __init__(self, supports: Supports, rules: Mapping[type[hlo.Node], Rule]) -> None:
        self.supports = supports
        self.rules = rules
        self.kernels: dict[object, list[Kernel]] = {}
        self.keep_alive: list[object] = []
        self.stored: dict[hlo.Node, fusion.Reason] = {}
        self.loops = 0  # number of loops around the current region

    def is_native(self, node: hlo.Node) -> bool:
        """Returns whether kernels can compute an elementwise node or view."""
        if isinstance(node, hlo.Apply):
            if node.fn in PARTS or node.fn == "complex":
                return True
            return self.supports(node.fn, [a.dtype for a in node.args], node.dtype)
        return all(self.is_stored(dtype) for dtype in (node.dtype, *_index_dtypes(node)))

    def is_sinkable(self, node: hlo.Node) -> bool:
        """Returns whether a loop kernel can compute a node."""
        if isinstance(node, hlo.Reduce | hlo.Dot):
            if accumulator(node.dtype) != node.dtype:
                return False
            fn = node.fn if isinstance(node, hlo.Reduce) else "add"
            return self.supports(fn, [node.dtype] * 2, node.dtype)
        return self.is_native(node)

    def is_scatter(self, node: hlo.Scatter) -> bool:
        """Returns whether a kernel computes a scatter."""
        return self.is_native(node) and has_kernel(node, self.supports)

    def is_stored(self, dtype: np.dtype) -> bool:
        """Returns whether kernels can load and store elements of `dtype`."""
        return self.supports("store", [dtype], dtype)

    def is_reduction(self, node: hlo.Node) -> bool:
        """Returns whether a kernel computes a reduction or contraction."""
        if isinstance(node, hlo.Reduce):
            return self.supports(node.fn, [node.dtype] * 2, node.dtype)
        if isinstance(node, hlo.Dot):
            native = self.supports("add", [node.dtype] * 2, node.dtype)
            return native and (node.dtype not in blas.PRODUCTS or is_small_dot(node))
        return False

    def prepared(self, kernel: Kernel) -> list[Kernel]:
        """Optimizes the loop nest of `kernel`.

        The result is one kernel, or several for parts of its domain. For equal kernels, the same
        list is returned.
        """
        key = kernel_key(kernel)
        kernels = self.kernels.get(key)
        if kernels is None:
            collapsed = collapse(kernel)
            pieces = tiled(collapsed) or [unroll_and_jam(write_out_short_axes(collapsed))]
            kernels = [each if each is collapsed else collapse(each) for each in pieces]
            self.kernels[key] = kernels
        return kernels

    def region(
        self,
        region: hlo.Region,
        inputs: Sequence[ir.Buffer],
        outputs: Sequence[ir.Buffer],
        last: Sequence[hlo.Node] = (),
    ) -> list[ir.Step]:
        """Returns steps that write the results of `region` to `outputs`.

        The updates `last` run after all other steps.
        """
        return RegionPlan(self, region, inputs, outputs, last).steps


class RegionPlan:
    """The plan of one region, built step by step."""

    def __init__(
        self,
        planner: Planner,
        region: hlo.Region,
        inputs: Sequence[ir.Buffer],
        outputs: Sequence[ir.Buffer],
        last: Sequence[hlo.Node],
    ) -> None:
        self.planner = planner
        self.steps: list[ir.Step] = []
        self._updates: dict[hlo.While, dict[int, Updated]] = {}
        self.buffers: dict[hlo.Node, list[ir.Buffer]] = {
            p: [b] for p, b in zip(region.parameters, inputs, strict=True)
        }
        stored = [x for node in last for x in operands(node) if not isinstance(x, _LEAVES)]
        stored += self._read_by_calls(region)
        grouping = fusion.group(
            region.results,
            region.ordered,
            planner.is_native,
            planner.is_reduction,
            planner.is_scatter,
            stored,
        )
        units = sorted(grouping.groups, key=lambda unit: unit.roots[0] in last)  # stable
        self.materialized = grouping.materialized
        planner.stored.update(grouping.reasons)
        self.uses = _uses_of_updated(region)
        self.targets = self._targets(region.results, outputs)
        self.wholes = fourier.wholes(
            region, lambda node: self.has_kernels(node) or fourier.has_calls(node)
        )
        idle = self._idle(region) | set(self.wholes.values())
        for unit in units:
            roots = [root for root in unit.roots if root not in idle]
            if roots:
                count = len(self.steps)
                getattr(self, f"_{unit.kind}")(roots)
                for step in self.steps[count:]:
                    if isinstance(step, ir.ComputingStep) and not step.nodes:
                        step.nodes = tuple(roots)
        for result, output in zip(region.results, outputs, strict=True):
            source = self.buffer(result)
            if source is not output:
                self.steps.append(ir.Copy(output, source))

    # --- buffers ----------------------------------------------------------------------------------

    def _targets(
        self, results: Sequence[hlo.Node], outputs: Sequence[ir.Buffer]
    ) -> dict[tuple[hlo.Node, int], ir.Buffer]:
        """Returns the buffers of outputs in which results of nodes are computed directly.

        They are keyed by the node and the index of the result.
        """
        targets: dict[tuple[hlo.Node, int], ir.Buffer] = {}
        for result, output in zip(results, outputs, strict=True):
            node, index = _base(result)
            if not isinstance(node, _LEAVES) and (node, index) not in targets:
                targets[node, index] = output
                while (x := self._begins_as(node, index)) is not None and self.is_spent(x):
                    node, index = x, 0
                    targets[node, 0] = output
        return targets

    def has_kernels(self, node: hlo.Dft) -> bool:
        """Returns whether kernels compute a Fourier transform.

        This is the case in loops, which run often enough to amortize their compilation.
        """
        return self.planner.loops > 0 and fourier_kernels.has_kernels(node)

    def _read_by_calls(self, region: hlo.Region) -> list[hlo.Node]:
        """Returns the operands of native Fourier transforms, which have to be in memory."""
        inputs: list[hlo.Node] = []
        for node in traversal.reachable(traversal.roots(region)).values():
            if isinstance(node, hlo.Dft) and not self.has_kernels(node):
                inputs += fourier.read(node)
        return [x for x in inputs if not isinstance(x, _LEAVES)]

    def _begins_as(self, node: hlo.Node, index: int) -> hlo.Node | None:
        """Returns the node whose value is in a result's memory before the result is computed.

        It is the operand of an update, or the initial value of a carry; None for other results.
        """
        if isinstance(node, _UPDATES):
            return node.x
        if isinstance(node, hlo.LibraryCall) and library.is_update(node.name):
            return node.args[0]
        if isinstance(node, hlo.While) and index not in self.filled(node):
            return node.init[index]
        return None

    def is_spent(self, x: hlo.Node) -> bool:
        """Returns whether the value of `x` has a single user, an update, which can overwrite it."""
        return self.uses[x] == 1 and _base(x) == (x, 0) and not isinstance(x, _LEAVES)

    def new(self, node: hlo.Node) -> list[ir.Buffer]:
        """Creates buffers for the results of `node`, which is about to be computed."""
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        buffers = self.buffers[node] = [
            self.targets.get((node, i)) or ir.Buffer("arena", t.nbytes) for i, t in enumerate(types)
        ]
        return buffers

    def new_update(self, node: hlo.DynamicUpdateSlice | hlo.Scatter | hlo.LibraryCall) -> ir.Buffer:
        """Returns the buffer of an update, initialized with the value to be updated."""
        x = self._begins_as(node, 0)
        assert x is not None, "an update"
        source = self.buffer(x)
        if self.is_spent(x) and (node, 0) not in self.targets:
            self.buffers[node] = [source]
            return source
        (target,) = self.new(node)
        if target is not source:
            self.steps.append(ir.Copy(target, source))
        return target

    def new_carry(self, node: hlo.While) -> list[ir.Buffer]:
        """Returns buffers for the carries of a loop.

        The buffer of an initial value is reused if nothing else needs the value.
        """
        filled = self.filled(node)
        buffers: list[ir.Buffer] = []
        for i, x in enumerate(node.init):
            target = self.targets.get((node, i))
            if target is None and i not in filled and self.is_spent(x):
                target = self.buffer(x)
            buffers.append(target or ir.Buffer("arena", x.tensor_type.nbytes))
        self.buffers[node] = buffers
        return buffers

    def has_buffer(self, node: hlo.Node) -> bool:
        """Returns whether `node` is in memory already."""
        if node in self.buffers:
            return True
        if isinstance(node, hlo.Constant):
            return node.tensor_type.size != 1
        if node not in self.materialized or not fusion.is_alias(node):
            return False
        base, _ = _base(node)
        return base in self.buffers or isinstance(base, hlo.Constant)

    def buffer(self, node: hlo.Node | Plane) -> ir.Buffer:
        """Returns the buffer that contains the value of `node`."""
        if isinstance(node, Plane):
            if node.buffer.value is not None:
                self.planner.keep_alive.append(node.buffer.value)
            return node.buffer
        buffers = self.buffers.get(node)
        if buffers is not None:
            return buffers[0]
        base, index = _base(node)
        if isinstance(base, hlo.Constant) and base not in self.buffers:
            self.buffers[base] = [ir.Buffer("constant", base.value.nbytes, value=base.value)]
            self.planner.keep_alive.append(base.value)
        return self.buffers[base][index]

    def launch(self, k: KernelBuilder, in_order: bool = False) -> None:
        """Adds a launch of a finished kernel; `in_order` fixes the order of its reduction."""
        if 0 in k.extents[: k.rank - k.reduced]:
            return
        buffers = tuple([self.buffer(p) for p in k.params])
        for kernel in self.planner.prepared(k.kernel(lambda p: p.dtype, in_order)):
            launch, division = ir.Launch(kernel, buffers), split_fold(kernel)
            if division is None:
                self.steps.append(launch)
            else:
                summed, combined = parts.launches(launch, division)
                self.steps += [*summed, *combined]

    # --- kernels ----------------------------------------------------------------------------------

    def _loop(self, roots: list[hlo.Node]) -> None:
        stored = [_stored(root) for root in roots]
        domains = self.computed(
            roots[0].shape,
            lambda k: [k.value(x, k.identity()) for parts in stored for x in parts],
        )
        for root in roots:
            self.new(root)
        for k, values in domains:
            value = iter(values)
            for root, pieces in zip(roots, stored, strict=True):
                index = k.linear(root.shape, k.identity())
                if len(pieces) == 1:
                    k.store(root, index, next(value))
                else:
                    k.store_parts(root, index, [next(value) for _ in pieces])
            self.launch(k)

    def computed(
        self, extents: Sequence[int], values: Callable[[KernelBuilder], list[int]]
    ) -> list[tuple[KernelBuilder, list[int]]]:
        """Returns builders for a domain, and the statements that `values` adds to each.

        There is one builder, or one for each part of the domain if it is split so that each part
        reads a single operand of every concatenation or padding. Nodes that would require many
        parts are materialized first.
        """
        done: list[tuple[KernelBuilder, list[int]]] = []
        domains = [[(0, n) for n in extents]]
        while domains:
            domain = domains.pop()
            sizes, origin = [b - a for a, b in domain], [a for a, _ in domain]
            k = KernelBuilder(sizes, 0, self.has_buffer, origin)
            try:
                done.append((k, values(k)))
                continue
            except UnresolvedError as error:
                stored = error.node
            except CrossingError as error:
                if len(done) + len(domains) + 2 <= COSTS.max_domains:
                    (a, b), at = domain[error.axis], error.at
                    for part in ((at, b), (a, at)):
                        domains.append([*domain[: error.axis], part, *domain[error.axis + 1 :]])
                    continue
                stored = error.node
            self.materialize(stored)
            done, domains = [], [[(0, n) for n in extents]]
        return done

    def written(self, write: Callable[[], Written]) -> Written:
        """Calls `write`, which builds one kernel, and returns its result.

        Nodes that cannot be inlined into the kernel are materialized first.
        """
        while True:
            try:
                return write()
            except (CrossingError, UnresolvedError) as error:
                self.materialize(error.node)

    def _reduce(self, roots: list[hlo.Node]) -> None:
        first = roots[0]
        write = reductions.contraction if isinstance(first, hlo.Dot) else reductions.reductions
        k, outputs = self.written(lambda: write(roots, self.has_buffer))
        for root, out, fn, value, factor in outputs:
            self.new(root)
            k.reduce(root, out, fn, value, factor)
        self.launch(k, isinstance(first, hlo.Reduce) and first.in_order)

    # --- everything else ---------------------------------------------------------------------------

    def _single(self, roots: list[hlo.Node]) -> None:
        (node,) = roots
        rule = self.planner.rules.get(type(node))
        if rule is not None and rule(self, node):
            return
        self._by_reference(node)

    def _by_reference(self, node: hlo.Node) -> None:
        """Computes `node` by its reference implementation."""
        call = node_calls.call_of(node)
        if call is None:
            self.call_host(node)
        else:
            args = tuple([self.buffer(x) for x in operands(node)])
            self.steps.append(ir.LibraryCall(call, args, tuple(self.new(node))))

    def call_host(self, node: hlo.Node) -> None:
        """Plans a call of a Python function, or of a node whose regions call Python functions."""
        args = list(dict.fromkeys(operands(node)))
        multiple = isinstance(node.type, tuple)

        def compute(*values: np.ndarray) -> Sequence[np.ndarray]:
            with float_errors.ignored():
                result = interpret.evaluate(node, dict(zip(args, values, strict=True)))
            return result if multiple else (result,)

        types = node.type if isinstance(node.type, tuple) else (node.type,)
        sources = tuple([(self.buffer(a), a.tensor_type) for a in args])
        results = tuple(zip(self.new(node), types, strict=True))
        if not isinstance(node, hlo.HostCall):
            self.steps.append(ir.HostCall(hlo.kind_name(type(node)), compute, sources, results))
        elif node.in_place:
            sources = tuple([(self.buffer(a), a.tensor_type) for a in node.args])
            self.steps.append(ir.HostCall(node.name, node.fn, sources, results, True, node.finish))
        else:
            self.steps.append(ir.HostCall(node.name, compute, sources, results))

    def by_reference_demanding(self, node: hlo.Node) -> bool:
        """Computes `node` by its reference implementation, and returns True.

        Operands that are not in memory are materialized first.
        """
        for x in operands(node):
            self.materialize(x)
        self._by_reference(node)
        return True

    def materialize(self, node: hlo.Node) -> None:
        """Materializes `node`, which was inlined before."""
        if self.has_buffer(node) or isinstance(node, hlo.Constant):
            return
        self.planner.stored.setdefault(node, (fusion.THROUGH, None))
        if fusion.is_alias(node):
            self.materialize(_base(node)[0])
            self.materialized.add(node)
        elif type(node) in self.planner.rules:
            self._single([node])
        elif self.planner.is_native(node):
            self._loop([node])
        else:
            self.by_reference_demanding(node)

    def updated(self, node: hlo.While) -> dict[int, Updated]:
        """Returns the carries of a loop that are updated in place."""
        updates = self._updates.get(node)
        if updates is None:
            updates = self._updates[node] = updated_in_place(node, self.planner.is_scatter)
        return updates

    def filled(self, node: hlo.While) -> set[int]:
        """Returns the carries that a loop overwrites completely.

        Their initial values are not needed.
        """
        return {
            i
            for i, updated in self.updated(node).items()
            if updated.is_fully_overwritten and self.planner.is_stored(node.init[i].dtype)
        }

    def _idle(self, region: hlo.Region) -> set[hlo.Node]:
        """Returns nodes that are only used as initial values of completely overwritten carries."""
        ends = traversal.roots(region)
        nodes = traversal.topological_order(ends)
        starts: dict[hlo.Node, int] = {}
        for node in nodes:
            if isinstance(node, hlo.While):
                for i in self.filled(node):
                    starts[node.init[i]] = starts.get(node.init[i], 0) + 1
        uses = traversal.count_uses(nodes, ends) if starts else {}
        return {node for node, count in starts.items() if uses[node] == count}


def _base(node: hlo.Node) -> tuple[hlo.Node, int]:
    """Returns the node whose memory `node` shares, and the index of the result in that node."""
    node = traversal.storage_of(node)
    if isinstance(node, hlo.Project):
        return node.node, node.index
    return node, 0


def _uses_of_updated(region: hlo.Region) -> dict[hlo.Node, int]:
    """Returns the number of uses of each node; empty if no node is partially updated."""
    ends = traversal.roots(region)
    nodes = traversal.topological_order(ends)
    has_updates = any(isinstance(node, (*_UPDATES, hlo.While, hlo.LibraryCall)) for node in nodes)
    return traversal.count_uses(nodes, ends) if has_updates else {}


def _stored(root: hlo.Node) -> tuple[hlo.Node, ...]:
    """Returns the nodes whose elements a kernel stores for `root`: its parts if it is complex."""
    if isinstance(root, hlo.Apply) and root.fn == "complex":
        return root.args
    return (root,)
