"""From the tensor IR to plans: fusion, kernels, library calls, memory.

Every node of the tensor IR has a way to be computed: kernels for elementwise code, views, reductions
and small contractions; BLAS for large contractions; native loops and branches for control flow; and
for the rest (large sorts, rare scalar functions and dtypes) the reference implementation of the node, a
library call like those that primitives make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from jitney.compiler import blas, library
from jitney.compiler.cost import COSTS
from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import interpret, ir as hlo, node_calls, traversal
from jitney.compiler.hlo.contractions import is_small_dot
from jitney.compiler.hlo.traversal import operands
from jitney.compiler.kernels import effort, loop_kernel
from jitney.compiler.kernels.build import (
    PARTS,
    CrossingError,
    KernelBuilder,
    UnresolvedError,
    clamped_start,
    combine,
    row_major,
    shifted,
)
from jitney.compiler.kernels.ir import Kernel, accumulator, kernel_key
from jitney.compiler.kernels.schedule import collapse
from jitney.compiler.kernels.split_reduction import Split, split_fold
from jitney.compiler.kernels.unroll import unroll_and_jam, write_out_short_axes
from jitney.compiler.kernels.wide import in_wide_registers
from jitney.compiler.plan import fourier, ir, memory, reductions
from jitney.compiler.plan.contraction import as_gemm
from jitney.compiler.plan.inplace import Updated, update_in_place, updated_in_place
from jitney.compiler.plan.scatter import Windows, has_kernel

_LEAVES = (hlo.Parameter, hlo.Constant)

_Written = TypeVar("_Written")

Supports = Callable[[str, Sequence[np.dtype], np.dtype], bool]


def build(module: hlo.Module, supports: Supports) -> ir.Plan:
    """The plan of `module`.

    Args:
      module: a simplified program.
      supports: whether code can be generated for a scalar function of given dtypes.
    """
    planner = _Planner(supports)
    region = module.region
    inputs = [ir.Buffer("input", p.tensor_type.nbytes, i) for i, p in enumerate(region.parameters)]
    outputs = [ir.Buffer("output", r.tensor_type.nbytes, i) for i, r in enumerate(region.results)]
    steps = planner.region(region, inputs, outputs)
    return ir.Plan(
        module.name,
        steps,
        tuple(p.tensor_type for p in region.parameters),
        tuple(r.tensor_type for r in region.results),
        memory.assign_buffers(steps),
        planner.keep_alive,
    )


def _index_dtypes(node: hlo.Node) -> list[np.dtype]:
    """Dtypes of the positions that `node` reads or writes at."""
    match node:
        case hlo.Gather() | hlo.Scatter():
            return [node.indices.dtype]
        case hlo.DynamicSlice() | hlo.DynamicUpdateSlice():
            return [start.dtype for start in node.starts]
        case _:
            return []


class _Planner:
    """What the regions of one program share."""

    def __init__(self, supports: Supports) -> None:
        self.supports = supports
        self.kernels: dict[object, Kernel] = {}
        self.keep_alive: list[object] = []

    def is_native(self, node: hlo.Node) -> bool:
        """Whether kernels can compute this elementwise node or view."""
        if isinstance(node, hlo.Apply):
            if node.fn in PARTS or node.fn == "complex":
                return True
            return self.supports(node.fn, [a.dtype for a in node.args], node.dtype)
        return all(self.is_stored(dtype) for dtype in (node.dtype, *_index_dtypes(node)))

    def is_sinkable(self, node: hlo.Node) -> bool:
        """Whether a loop kernel can compute this node."""
        if isinstance(node, hlo.Reduce | hlo.Dot):
            if accumulator(node.dtype) != node.dtype:
                return False
            fn = node.fn if isinstance(node, hlo.Reduce) else "add"
            return self.supports(fn, [node.dtype] * 2, node.dtype)
        return self.is_native(node)

    def is_scatter(self, node: hlo.Scatter) -> bool:
        """Whether a kernel computes this scatter."""
        return self.is_native(node) and has_kernel(node, self.supports)

    def is_stored(self, dtype: np.dtype) -> bool:
        """Whether kernels can load and store elements of `dtype`."""
        return self.supports("store", [dtype], dtype)

    def is_reduction(self, node: hlo.Node) -> bool:
        """Whether a kernel computes this reduction or contraction."""
        if isinstance(node, hlo.Reduce):
            return self.supports(node.fn, [node.dtype] * 2, node.dtype)
        if isinstance(node, hlo.Dot):
            native = self.supports("add", [node.dtype] * 2, node.dtype)
            return native and (node.dtype.name not in blas.PRODUCTS or is_small_dot(node))
        return False

    def prepared(self, kernel: Kernel) -> Kernel:
        """`kernel` with the axes that it is to run over: one object for kernels of the same content."""
        key = kernel_key(kernel)
        found = self.kernels.get(key)
        if found is None:
            collapsed = collapse(kernel)
            written = unroll_and_jam(write_out_short_axes(collapsed))
            found = self.kernels[key] = written if written is collapsed else collapse(written)
        return found

    def region(
        self,
        region: hlo.Region,
        inputs: Sequence[ir.Buffer],
        outputs: Sequence[ir.Buffer],
        last: Sequence[hlo.Node] = (),
    ) -> list[ir.Step]:
        """Steps that write the results of `region` to `outputs`; updates `last` come after all else."""
        return _RegionPlan(self, region, inputs, outputs, last).steps


class _RegionPlan:
    """The plan of one region, written step by step."""

    def __init__(
        self,
        planner: _Planner,
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
        self.targets = self._targets(region.results, outputs)
        self.wholes = fourier.wholes(region)
        idle = self._idle(region) | set(self.wholes.values())
        for unit in units:
            roots = [root for root in unit.roots if root not in idle]
            if roots:
                getattr(self, f"_{unit.kind}")(roots)
        for result, output in zip(region.results, outputs, strict=True):
            source = self.buffer(result)
            if source is not output:
                self.steps.append(ir.Copy(output, source))

    # --- buffers ----------------------------------------------------------------------------------

    def _targets(
        self, results: Sequence[hlo.Node], outputs: Sequence[ir.Buffer]
    ) -> dict[tuple[hlo.Node, int], ir.Buffer]:
        """Which nodes are computed right into an output."""
        targets: dict[tuple[hlo.Node, int], ir.Buffer] = {}
        for result, output in zip(results, outputs, strict=True):
            node, index = _base(result)
            if not isinstance(node, hlo.Parameter | hlo.Constant):
                targets.setdefault((node, index), output)
        return targets

    def new(self, node: hlo.Node) -> list[ir.Buffer]:
        """Buffers for the results of `node`, which is about to be computed."""
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        found = self.buffers[node] = [
            self.targets.get((node, i)) or ir.Buffer("arena", t.nbytes) for i, t in enumerate(types)
        ]
        return found

    def has_buffer(self, node: hlo.Node) -> bool:
        """Whether `node` is in memory already."""
        if node in self.buffers:
            return True
        if isinstance(node, hlo.Constant):
            return node.tensor_type.size != 1
        if node not in self.materialized or not fusion.is_alias(node):
            return False
        base, _ = _base(node)
        return base in self.buffers or isinstance(base, hlo.Constant)

    def buffer(self, node: hlo.Node | fourier.Plane) -> ir.Buffer:
        """Where the value of `node` is."""
        if isinstance(node, fourier.Plane):
            if node.buffer.value is not None:
                self.planner.keep_alive.append(node.buffer.value)
            return node.buffer
        found = self.buffers.get(node)
        if found is not None:
            return found[0]
        base, index = _base(node)
        if isinstance(base, hlo.Constant) and base not in self.buffers:
            self.buffers[base] = [ir.Buffer("constant", base.value.nbytes, value=base.value)]
            self.planner.keep_alive.append(base.value)
        return self.buffers[base][index]

    def launch(self, k: KernelBuilder, in_order: bool = False) -> None:
        """Adds the launch of a finished kernel; `in_order` says how it reductions."""
        if 0 in k.extents[: k.rank - k.reduced]:
            return
        kernel = self.planner.prepared(k.kernel(lambda p: p.dtype, in_order))
        buffers = tuple([self.buffer(p) for p in k.params])
        split = split_fold(kernel)
        if split is None:
            self.steps.append(ir.Launch(kernel, buffers))
        else:
            self._launch_parts(kernel, buffers, split)

    def _launch_parts(self, kernel: Kernel, buffers: tuple[ir.Buffer, ...], split: Split) -> None:
        """Launches the parts of a large reduction, then the reduction of their results."""
        partial = [
            ir.Buffer("arena", split.count * kernel.body[o.value].dtype.itemsize)
            for o in kernel.outputs
        ]
        between = (*[buffers[i] for i in split.inputs], *partial)
        self.steps += [ir.Launch(part, between) for part in split.parts]
        for o, last, results in zip(kernel.outputs, split.last, partial, strict=True):
            self.steps.append(ir.Launch(last, (results, buffers[o.param])))

    # --- kernels ----------------------------------------------------------------------------------

    def _loop(self, roots: list[hlo.Node]) -> None:
        stored = [_stored(root) for root in roots]
        domains = self._computed(
            roots[0].shape,
            lambda k: [k.value(x, k.identity()) for parts in stored for x in parts],
        )
        for root in roots:
            self.new(root)
        for k, values in domains:
            value = iter(values)
            for root, parts in zip(roots, stored, strict=True):
                index = k.linear(root.shape, k.identity())
                if len(parts) == 1:
                    k.store(root, index, next(value))
                else:
                    k.store_parts(root, index, [next(value) for _ in parts])
            self.launch(k)

    def _computed(
        self, extents: Sequence[int], values: Callable[[KernelBuilder], list[int]]
    ) -> list[tuple[KernelBuilder, list[int]]]:
        """Builders for a domain, and the statements that `values` has them write.

        There is one, or several for parts of the domain, so that each concatenation and padding within
        is one operand all over a part. Those that would need many parts are put in memory first.
        """
        if 0 in extents:
            return []
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

    def _written(self, write: Callable[[], _Written]) -> _Written:
        """What `write`, which writes one kernel, returns.

        Nodes that it cannot go through are put in memory first.
        """
        while True:
            try:
                return write()
            except (CrossingError, UnresolvedError) as error:
                self.materialize(error.node)

    def _reduce(self, roots: list[hlo.Node]) -> None:
        first = roots[0]
        write = reductions.contraction if isinstance(first, hlo.Dot) else reductions.reductions
        k, outputs = self._written(lambda: write(roots, self.has_buffer))
        for root, out, fn, value in outputs:
            self.new(root)
            k.reduce(root, out, fn, value)
        self.launch(k, isinstance(first, hlo.Reduce) and first.in_order)

    # --- everything else ------------------------------------------------------------------------------

    def _single(self, roots: list[hlo.Node]) -> None:
        (node,) = roots
        rule = _single_rules.get(type(node))
        if rule is not None and rule(self, node):
            return
        self._by_reference(node)

    def _by_reference(self, node: hlo.Node) -> None:
        """Computes `node` by its reference implementation."""
        call = node_calls.call_of(node)
        if call is None:
            self._host_call(node)
        else:
            args = tuple([self.buffer(x) for x in operands(node)])
            self.steps.append(ir.LibraryCall(call, args, tuple(self.new(node))))

    def _host_call(self, node: hlo.Node) -> None:
        """Calls a Python function of a user's, or evaluates a node that has one in a region."""
        args = list(dict.fromkeys(operands(node)))
        multiple = isinstance(node.type, tuple)

        def compute(*values: np.ndarray) -> Sequence[np.ndarray]:
            with np.errstate(all="ignore"):
                result = interpret.evaluate(node, dict(zip(args, values, strict=True)))
            return result if multiple else (result,)

        types = node.type if isinstance(node.type, tuple) else (node.type,)
        sources = tuple([(self.buffer(a), a.tensor_type) for a in args])
        results = tuple(zip(self.new(node), types, strict=True))
        name = node.name if isinstance(node, hlo.HostCall) else hlo.kind_name(type(node))
        self.steps.append(ir.HostCall(name, compute, sources, results))

    def concatenate(self, node: hlo.Concatenate) -> bool:
        """Each part is computed right into its place."""
        if not self.planner.is_stored(node.dtype):
            return self._by_reference_demanding(node)
        self.new(node)
        strides = row_major(node.shape)
        start = 0
        for part in node.parts:
            offset = start * strides[node.dim]
            for k, (value,) in self._computed(
                part.shape, lambda k, part=part: [k.value(part, k.identity())]
            ):
                k.store(node, combine(k.identity(), strides, offset, k.rank), value)
                self.launch(k)
            start += part.shape[node.dim]
        return True

    def pad(self, node: hlo.Pad) -> bool:
        """The whole is filled, then the operand is computed into its place."""
        if not self.planner.is_stored(node.dtype):
            return self._by_reference_demanding(node)
        self.new(node)
        for k, (value,) in self._computed(node.shape, lambda k: [k.value(node.value, ())]):
            k.store(node, k.linear(node.shape, k.identity()), value)
            self.launch(k)
        # Negative padding drops elements: rows first .. last of each axis survive.
        spans: list[tuple[int, int, int, int]] = []  # first, count, place, step
        for n, out, low, inner in zip(
            node.x.shape, node.shape, node.low, node.interior, strict=True
        ):
            step = inner + 1
            first = max(-(low // step), 0) if low < 0 else 0
            last = min(n, (out - low + step - 1) // step)
            spans.append((first, max(last - first, 0), low + first * step, step))
        strides = row_major(node.shape)

        def operand(k: KernelBuilder) -> list[int]:
            index = tuple([k.axis(j, first) for j, (first, _, _, _) in enumerate(spans)])
            return [k.value(node.x, index)]

        for k, (value,) in self._computed([count for _, count, _, _ in spans], operand):
            places = [k.axis(j, low, step) for j, (_, _, low, step) in enumerate(spans)]
            k.store(node, combine(places, strides, 0, k.rank), value)
            self.launch(k)
        return True

    def _by_reference_demanding(self, node: hlo.Node) -> bool:
        """For nodes whose operands were not all materialized: computes these first."""
        for x in operands(node):
            self.materialize(x)
        self._by_reference(node)
        return True

    def materialize(self, node: hlo.Node) -> None:
        """Puts the value of `node`, inlined so far, in memory."""
        if self.has_buffer(node) or isinstance(node, hlo.Constant):
            return
        if fusion.is_alias(node):
            self.materialize(_base(node)[0])
            self.materialized.add(node)
        elif type(node) in _single_rules:
            self._single([node])
        elif self.planner.is_native(node):
            self._loop([node])
        else:
            self._by_reference_demanding(node)

    def update_slice(self, node: hlo.DynamicUpdateSlice) -> bool:
        """A copy of the operand, then the update computed into its place."""
        if not self.planner.is_native(node):
            return self._by_reference_demanding(node)
        source = self.buffer(node.x)
        (target,) = self.new(node)
        if target is not source:
            self.steps.append(ir.Copy(target, source))
        shape = node.update.shape
        moving = [j for j, n in enumerate(node.x.shape) if n != shape[j]]

        def values(k: KernelBuilder) -> list[int]:
            starts = [(k.value(node.starts[j], ()), node.x.shape[j] - shape[j]) for j in moving]
            return [k.value(node.update, k.identity()), *[clamped_start(k, *s) for s in starts]]

        for k, (value, *starts) in self._computed(shape, values):
            index = list(k.identity())
            for j, start in zip(moving, starts, strict=True):
                index[j] = shifted(k, index[j], start)
            k.store(node, k.linear(node.shape, tuple(index)), value)
            self.launch(k)
        return True

    def scatter(self, node: hlo.Scatter) -> bool:
        """A copy of the operand, then the windows one after the other, in order."""
        if not self.planner.is_scatter(node):
            return False
        windows = self._written(lambda: Windows(node, self.has_buffer))
        source = self.buffer(node.x)
        (target,) = self.new(node)
        if target is not source:
            self.steps.append(ir.Copy(target, source))
        self.launch(windows.written())
        return True

    def dot(self, node: hlo.Dot) -> bool:
        """A call of BLAS, where operands lie as it wants them."""
        gemm = as_gemm(node, self.buffer)
        if gemm is None:
            return False
        gemm.out = self.new(node)[0]
        self.steps.append(gemm)
        return True

    def dft(self, node: hlo.Dft) -> bool:
        """A kernel for each factor of the length."""
        if not fourier.has_kernels(node):
            return self._by_reference_demanding(node)
        planes = [fourier.Plane(node.re.dtype, b) for b in self.new(self.wholes.get(node, node))]
        builders = self._written(lambda: fourier.kernels(node, planes, self.has_buffer))
        for k in builders:
            self.launch(k)
        return True

    def loop(self, node: hlo.While) -> bool:
        """A native loop; what it changes lives in buffers of its own.

        Carries that an iteration updates in part are updated in place; so are accumulators (`inplace`).
        """
        in_place = self._updated(node)
        built = loop_kernel.build_loop(node, {*in_place}, self.planner.is_sinkable, _finished)
        if built is not None:
            self._loop_kernel(node, built)
            return True
        parameters, results = node.body.parameters, node.body.results
        changing = [r is not p for r, p in zip(results, parameters, strict=True)]
        carry = self.new(node)
        filled = self._filled(node)
        for i, x in enumerate(node.init):
            if not changing[i]:
                carry[i] = self.buffer(x)
            elif i not in filled and carry[i] is not self.buffer(x):
                self.steps.append(ir.Copy(carry[i], self.buffer(x)))
        predicate = ir.Buffer("arena", 1)
        cond = self.planner.region(node.cond, carry, [predicate])
        after = [
            ir.Buffer("arena", b.nbytes) if changing[i] and i not in in_place else b
            for i, b in enumerate(carry)
        ]
        last = [node.body.results[i] for i, updated in in_place.items() if updated.is_read]
        body = self.planner.region(node.body, carry, after, last)
        body, after = update_in_place(body, carry, after)
        for b, a in zip(carry, after, strict=True):
            if a is not b:
                body.append((ir.Copy if b.nbytes < COSTS.swap_above else ir.SwapBuffers)(b, a))
        self.steps.append(ir.Loop(cond, predicate, body, tuple([carry[i] for i in sorted(filled)])))
        return True

    def _loop_kernel(self, node: hlo.While, built: loop_kernel.BuiltLoop) -> None:
        """The loop as one kernel, its carry in registers."""
        in_place = self._updated(node)
        parameters, results = node.body.parameters, node.body.results
        carry = self.new(node)
        filled = self._filled(node)
        for i, (r, p) in enumerate(zip(results, parameters, strict=True)):
            if r is p:
                carry[i] = self.buffer(node.init[i])
            elif i in in_place and i not in filled:
                source = self.buffer(node.init[i])
                if carry[i] is not source:
                    self.steps.append(ir.Copy(carry[i], source))
        buffers: list[ir.Buffer] = []
        for param in built.params:
            match param:
                case hlo.Node():
                    buffers.append(self.buffer(param))
                case ("start" | "loaded", i):
                    buffers.append(self.buffer(node.init[i]))
                case (_, i):
                    buffers.append(carry[i])
        self.steps.append(ir.Launch(built.kernel, tuple(buffers)))

    def _updated(self, node: hlo.While) -> dict[int, Updated]:
        """The carries of a loop that are updated in place."""
        found = self._updates.get(node)
        if found is None:
            found = self._updates[node] = updated_in_place(node, self.planner.is_scatter)
        return found

    def _filled(self, node: hlo.While) -> set[int]:
        """Carries that the loop overwrites completely: their initial values are not needed."""
        return {
            i
            for i, updated in self._updated(node).items()
            if updated.is_fully_overwritten and self.planner.is_stored(node.init[i].dtype)
        }

    def _idle(self, region: hlo.Region) -> set[hlo.Node]:
        """Nodes that are nothing but what carries are at first that loops fill."""
        ends = traversal.roots(region)
        nodes = traversal.topological_order(ends)
        starts: dict[hlo.Node, int] = {}
        for node in nodes:
            if isinstance(node, hlo.While):
                for i in self._filled(node):
                    starts[node.init[i]] = starts.get(node.init[i], 0) + 1
        uses = traversal.count_uses(nodes, ends) if starts else {}
        return {node for node, count in starts.items() if uses[node] == count}

    def branch(self, node: hlo.Cond) -> bool:
        """Native branches."""
        args = [self.buffer(a) for a in node.args]
        outputs = self.new(node)
        cases = [self.planner.region(region, args, outputs) for region in node.cases]
        self.steps.append(ir.Branch(self.buffer(node.index), cases))
        return True

    def library_call(self, node: hlo.LibraryCall) -> bool:
        """A call of machine code, or of the reference implementation."""
        types = node.type
        assert isinstance(types, tuple)
        routine = library.Routine(node.name, node.params)
        call = library.Call(routine, tuple([a.tensor_type for a in node.args]), types)
        args = tuple([self.buffer(a) for a in node.args])
        results = tuple(self.new(node))
        native = library.native_call(call)
        beside: list[ir.Buffer] = []
        if native is not None:
            if not native.batch:
                return True
            self.planner.keep_alive.append(native.options)
            beside.append(ir.Buffer("constant", native.options.nbytes, value=native.options))
            if native.workspace:
                beside.append(ir.Buffer("arena", native.workspace))
        self.steps.append(ir.LibraryCall(call, args, results, native, tuple(beside)))
        return True

    def host_call(self, node: hlo.HostCall) -> bool:
        """A call of a Python function."""
        self._host_call(node)
        return True

    def collective(self, node: hlo.Collective) -> bool:
        """A step that the participants of a group take together."""
        args = tuple([self.buffer(a) for a in node.args])
        (result,) = self.new(node)
        self.steps.append(ir.Collective(node, args, result))
        return True

    def fence(self, node: hlo.Fence) -> bool:
        """Operands stay where they are: the barrier has done its work."""
        for buffer, x in zip(self.new(node), node.args, strict=True):
            self.steps.append(ir.Copy(buffer, self.buffer(x)))
        return True


_single_rules: dict[type, Callable[[_RegionPlan, Any], bool]] = {
    hlo.Concatenate: _RegionPlan.concatenate,
    hlo.Pad: _RegionPlan.pad,
    hlo.DynamicUpdateSlice: _RegionPlan.update_slice,
    hlo.Scatter: _RegionPlan.scatter,
    hlo.Dot: _RegionPlan.dot,
    hlo.Dft: _RegionPlan.dft,
    hlo.While: _RegionPlan.loop,
    hlo.Cond: _RegionPlan.branch,
    hlo.LibraryCall: _RegionPlan.library_call,
    hlo.HostCall: _RegionPlan.host_call,
    hlo.Collective: _RegionPlan.collective,
    hlo.Fence: _RegionPlan.fence,
}


def _finished(kernel: loop_kernel.LoopKernel) -> loop_kernel.LoopKernel | None:
    """The loop kernel as it is to be compiled; None if it would cost LLVM too much."""
    kernel = in_wide_registers(kernel)
    return kernel if effort.fits(kernel) else None


def _base(node: hlo.Node) -> tuple[hlo.Node, int]:
    """The node whose memory `node` shares, and which of its results that is."""
    node = traversal.storage_of(node)
    if isinstance(node, hlo.Project):
        return node.node, node.index
    return node, 0


def _stored(root: hlo.Node) -> tuple[hlo.Node, ...]:
    """The nodes whose elements a kernel stores for `root`: the parts of complex numbers."""
    if isinstance(root, hlo.Apply) and root.fn == "complex":
        return root.args
    return (root,)
