"""The facts of a compiled program: its steps, with their source lines, sizes and costs.

    program ::= Program(title, arguments, results, work, temporary_bytes)
    work    ::= Work(kind, what, sources, operations, reads, writes, flops, ..., within)

The facts are derived from the plan: its steps refer to the nodes that they compute, nodes refer to
the equations that they come from, and equations to the user's source lines. Nothing is measured
here.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from jitney.compiler import pipeline
from jitney.compiler.codegen.driver import division
from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels.ir import Kernel, While
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.accesses import reads_and_writes
from jitney.compiler.plan.estimate import operations, traffic
from jitney.compiler.plan.groups import nodes_of
from jitney.core.program.jaxpr import is_high
from jitney.core.pytree import pytrees
from jitney.core.types.avals import is_valid_operand
from jitney.core.types.refs import any_refs
from jitney.core.util.record import field, record
from jitney.inspection import titles
from jitney.inspection.sources import Source as Source, source_of as source_of
from jitney.inspection.values import Named, Values

if TYPE_CHECKING:
    from jitney.api.jit.jit import JitFunction
    from jitney.core.typing import PyTree, Value

Kind: TypeAlias = Literal[
    "kernel", "strips", "product", "library", "python", "collective", "copy", "loop", "branch"
]

_KINDS: dict[type, Kind] = {
    plans.Launch: "kernel",
    plans.RowStrips: "strips",
    plans.Gemm: "product",
    plans.LibraryCall: "library",
    plans.HostCall: "python",
    plans.Collective: "collective",
    plans.Copy: "copy",
    plans.Loop: "loop",
    plans.Branch: "branch",
}

# Nodes without arithmetic, which move elements of their operands or order other nodes.
_MOVES = (
    hlo.While, hlo.Cond, hlo.Parameter, hlo.Constant, hlo.Iota, hlo.Broadcast, hlo.Reshape,
    hlo.Transpose, hlo.Slice, hlo.Reverse, hlo.Bitcast, hlo.Project, hlo.ShardingConstraint,
    hlo.OptimizationBarrier,
)  # fmt: skip
_LEAVES = (hlo.Parameter, hlo.Constant)
_UPDATES = (hlo.While, hlo.DynamicUpdateSlice, hlo.Scatter)


@record
class Stored:
    """A value that is stored in memory between two steps.

    Attributes:
      source: the expression whose value it is, if known.
      name: its name; the name of the operation if the source is not known.
      type: its type, such as "float32[3,4]".
      nbytes: its size.
      reason: why it is stored.
    """

    source: Source | None
    name: Named
    type: str
    nbytes: int
    reason: str


@record
class Work:
    """One step of a program.

    Attributes:
      kind: what runs it, such as a kernel or a library.
      what: a short description, with sizes.
      sources: the user's expressions that it computes, in the order of the source.
      operations: for each operation name, the number of operations fused in it; views are not
        counted.
      reads, writes: names of the values in memory that it reads and writes.
      traffic: minimum number of bytes read and written.
      flops: number of scalar operations, such as floating-point additions.
      is_shared: whether threads share it.
      trips: for a loop, its trip count if known.
      stored: values that it leaves in memory for later steps.
      within: the steps of the body of a loop or branch, or the kernels of row strips.
      steps: the steps of the plan; several if several kernels compute parts of the values.
    """

    kind: Kind
    what: str
    sources: list[Source]
    operations: Counter[str]
    reads: list[str]
    writes: list[str]
    traffic: float
    flops: float
    steps: list[plans.Step]
    is_shared: bool = False
    trips: int | None = None
    stored: list[Stored] = field(default_factory=list)
    within: list[Work] = field(default_factory=list)

    def merge(self, part: Work) -> None:
        """Adds the work of another kernel that computes parts of the same values."""
        self.reads = list(dict.fromkeys([*self.reads, *part.reads]))
        self.writes = list(dict.fromkeys([*self.writes, *part.writes]))
        self.traffic += part.traffic
        self.flops += part.flops
        self.is_shared |= part.is_shared
        self.steps += part.steps

    @property
    def is_of_unknown_length(self) -> bool:
        """Whether this is a loop with an unknown trip count."""
        step = self.steps[0]
        kernel = step.kernel if isinstance(step, plans.Launch) else None
        return self.trips is None and (
            self.kind == "loop" or (kernel is not None and kernel.loop is not None)
        )

    def total(self) -> tuple[float, float]:
        """Returns (bytes moved, operations); loop bodies are multiplied by their trip counts."""
        if self.kind not in ("loop", "branch"):
            return self.traffic, self.flops
        parts = [work.total() for work in self.within]
        n = self.trips or 1
        return n * sum([moved for moved, _ in parts]), n * sum([flops for _, flops in parts])


@record
class Program:
    """The facts of a compiled program.

    Attributes:
      name: the name of the function.
      title: the function's name, with the transformations that were applied to it.
      place: "name at file:line" of the function; "" if unknown.
      arguments, results: names and types.
      work: its steps.
      temporary_bytes: memory beyond arguments and results.
      recomputed: the values that several steps recompute, each with these steps.
      plan: the plan from which the facts are derived.
      values: the names of the program's values.
    """

    name: str
    title: str
    place: str
    arguments: list[tuple[str, str]]
    results: list[str]
    work: list[Work]
    temporary_bytes: int
    recomputed: list[tuple[Named, list[Work]]]
    plan: plans.Plan
    values: Values

    def everything(self) -> Iterator[Work]:
        """Returns all steps, nested ones included."""
        return with_inner(self.work)

    def labels(self) -> list[str]:
        """Returns the label of each step in `everything`: "2", and "2.1" for a step within it."""
        return list(_labels(self.work, ""))


def lowered_module(
    fun: Callable[..., Any], args: Sequence[PyTree], kwargs: Mapping[str, PyTree]
) -> hlo.Module:
    """Lowers a function, jitted or not, for arguments."""
    return _jitted(fun).lower(*args, **kwargs)._lowering.module


def operands_of(
    fun: Callable[..., Any], args: Sequence[PyTree], kwargs: Mapping[str, PyTree]
) -> list[Value] | None:
    """Returns the operands of a function's program for arguments.

    Returns None if an argument is a type instead of a value, or if the program has operands that
    are not arguments, such as references.
    """
    from jitney.api.jit.jit import JitFunction

    jitted = _jitted(fun)
    if not isinstance(jitted, JitFunction):
        return None
    closed = jitted.trace(*args, **kwargs).jaxpr
    dynamic, named, _ = jitted.call.spec.split(tuple(args), dict(kwargs))
    leaves = pytrees.tree_leaves((dynamic, named))
    is_plain = not is_high(closed) and not any_refs(closed.in_avals)
    if not is_plain or len(leaves) != len(closed.in_avals):
        return None
    return leaves if all(map(is_valid_operand, leaves)) else None


def _jitted(fun: Callable[..., Any]) -> JitFunction:
    from jitney.api.jit.jit import jit

    jitted: object = fun if hasattr(fun, "lower") else jit(fun)
    return cast("JitFunction", jitted)


def of_module(module: hlo.Module) -> Program:
    """Returns the facts of a lowered program."""
    return of_plan(module, pipeline.plan(pipeline.optimize(module)))


def of_plan(module: hlo.Module, plan: plans.Plan) -> Program:
    """Returns the facts of a lowered program with its plan."""
    n = len(plan.inputs)
    info = titles.debug_info_of(module)
    known = ("",) * n if info is None else info.safe_arg_names(n)
    names = [name or f"argument {i}" for i, name in enumerate(known)]
    values = Values(module.jaxpr, names)
    reader = _Reader(plan, names, values)
    work = reader.steps(plan.steps)
    return Program(
        module.name,
        titles.title_of(module),
        "" if info is None else info.func_src_info,
        list(zip(names, map(str, plan.inputs), strict=True)),
        list(map(str, plan.outputs)),
        work,
        plan.arena_bytes,
        _recomputed(work, plan, values),
        plan,
        values,
    )


class _Reader:
    """A reader of the steps of one plan."""

    def __init__(self, plan: plans.Plan, names: Sequence[str], values: Values) -> None:
        self.plan = plan
        self.values = values
        self.names: dict[plans.Buffer, str] = {}
        self.arguments = names

    def name(self, buffer: plans.Buffer) -> str:
        """Returns the name of a buffer."""
        match buffer.place:
            case "input":
                return self.arguments[buffer.index]
            case "output":
                return "the result" if len(self.plan.outputs) == 1 else f"result {buffer.index}"
            case "constant":
                return "a constant"
            case "arena" | "strip":
                return self.names.get(buffer, "a temporary value")

    def steps(self, steps: Iterable[plans.Step]) -> list[Work]:
        """Returns the facts of steps; steps that only manage memory are omitted.

        Kernels that compute parts of one value are merged.
        """
        works: list[Work] = []
        for step in steps:
            if isinstance(step, plans.Wait | plans.SwapBuffers | plans.Clock):
                continue
            work = self.work(step)
            if works and _is_part_of(works[-1], work):
                works[-1].merge(work)
                self._leave_out_partial(works[-1])
            else:
                works.append(work)
        return works

    def _leave_out_partial(self, work: Work) -> None:
        """Removes from reads and writes the partial results passed between kernels of one value."""
        read: list[plans.Buffer] = []
        written: dict[plans.Buffer, None] = {}
        for step in work.steps:
            reads, writes = reads_and_writes(step)
            for buffer in reads:
                if buffer not in written:
                    read.append(buffer)
                elif buffer not in writes:
                    del written[buffer]
            written.update(dict.fromkeys(writes))
        work.reads = list(dict.fromkeys(map(self.name, read)))
        work.writes = list(dict.fromkeys(map(self.name, written)))

    def work(self, step: plans.Step) -> Work:
        """Returns the facts of one step."""
        nodes = list(nodes_of(step, self.plan.stored))
        read, written = reads_and_writes(step)
        work = Work(
            _KINDS[type(step)],
            _what(step),
            _sources(nodes),
            Counter(hlo.word(x) for x in nodes if not isinstance(x, _MOVES)),
            [],
            [],
            traffic(step),
            operations(step),
            [step],
        )
        if isinstance(step, plans.Loop):
            self._name_carries(step)
        work.within = self.steps(_within(step))
        work.reads = list(dict.fromkeys(map(self.name, read)))
        self._name_written(step, written)
        work.writes = list(dict.fromkeys(map(self.name, written)))
        if isinstance(step, plans.Launch):
            work.is_shared = division(step.kernel) == "parallel_for"
            if step.kernel.loop is not None:
                work.trips = step.kernel.loop.trips
        elif isinstance(step, plans.Loop):
            work.trips = step.trips
        elif isinstance(step, plans.RowStrips):
            work.is_shared = step.count > 1
        if not isinstance(step, plans.Copy | plans.Loop | plans.Branch):
            work.stored = self._stored(step)
        return work

    def _name_written(self, step: plans.Step, written: Sequence[plans.Buffer]) -> None:
        if not isinstance(step, plans.ComputingStep) or not step.nodes:
            return
        is_carried = isinstance(step.nodes[0], hlo.While)
        nodes = step.nodes if len(step.nodes) == len(written) else step.nodes[:1] * len(written)
        for buffer, node in zip(written, nodes, strict=True):
            named = self.values.named(node)
            if named is not None:
                name = f"a carry of line {named.line}" if is_carried else named.label
                self.names.setdefault(buffer, name)

    def _name_carries(self, loop: plans.Loop) -> None:
        """Renames the buffers of loop carries, which had the names of the initial values."""
        named = self.values.named(loop.nodes[0]) if loop.nodes else None
        if named is None:
            return
        pending = _within(loop)
        while pending:
            step = pending.pop()
            pending += _within(step)
            for buffer in reads_and_writes(step)[1]:
                if buffer in self.names:
                    self.names[buffer] = f"a carry of line {named.line}"

    def _stored(self, step: plans.Step) -> list[Stored]:
        """Returns the values that a step stores, except results of the program."""
        values: list[Stored] = []
        if not isinstance(step, plans.ComputingStep):
            return values
        _, written = reads_and_writes(step)
        in_strips = [buffer.place == "strip" for buffer in written]
        if len(in_strips) != len(step.nodes):
            in_strips = [bool(written) and all(in_strips)] * len(step.nodes)
        for node, in_strip in zip(step.nodes, in_strips, strict=True):
            reason = self.plan.stored.get(node)
            types = node.type if isinstance(node.type, tuple) else (node.type,)
            nbytes = sum(t.nbytes for t in types)
            if reason is not None and nbytes and reason[0] != fusion.RESULT and not in_strip:
                name = ", ".join(map(str, types))
                called = self.values.named(node) or Named(hlo.word(node))
                why = self._reason(step, node, called, reason)
                values.append(Stored(source_of(node), called, name, nbytes, why))
        return values

    def _reason(
        self, step: plans.Step, node: hlo.Node, called: Named, reason: fusion.Reason
    ) -> str:
        """Formats a reason, replacing the node that it refers to by the user's expression."""
        text, what = reason
        if text == fusion.ALONE:
            result_of = _result_of(step, node)
            if result_of is not None:
                return f"it is the result of {result_of}"
            if what is not node:  # the alias that the decision was about
                text = fusion.OPERAND
        named = self.values.named(what) if isinstance(what, hlo.Node) else None
        if named is None or what is node:
            return fusion.reason_text((text, what))
        if named.with_line == called.with_line:
            return text.format("a later operation of the same expression")
        return text.format(named.with_line)


def _result_of(step: plans.Step, node: hlo.Node) -> str | None:
    """Returns the kind of operation that stores its result however it is used; None for others."""
    match step, node:
        case plans.LibraryCall(), _:
            return "a library call"
        case plans.HostCall(), _:
            return "a Python function"
        case plans.Collective(), _:
            return "a collective operation"
        case _, hlo.Reduce() | hlo.ArgReduce() | hlo.ReduceRegion():
            return "a reduction"
        case _, hlo.Cumulative():
            return "a cumulative reduction"
        case _, hlo.Dot():
            return "a matrix product"
        case _, hlo.Convolution():
            return "a convolution"
        case _, hlo.While():
            return "a loop"
        case _:
            return None


def _is_part_of(work: Work, other: Work) -> bool:
    """Returns whether two launches compute parts of the same nodes."""
    one, two = work.steps[0], other.steps[0]
    return (
        isinstance(one, plans.Launch)
        and isinstance(two, plans.Launch)
        and one.nodes == two.nodes != ()
    )


def with_inner(work: Iterable[Work]) -> Iterator[Work]:
    """Yields steps, each followed by the steps within it."""
    for each in work:
        yield each
        yield from with_inner(each.within)


def _labels(work: Iterable[Work], outer: str) -> Iterator[str]:
    for i, each in enumerate(work, 1):
        yield f"{outer}{i}"
        yield from _labels(each.within, f"{outer}{i}.")


def _within(step: plans.Step) -> list[plans.Step]:
    if isinstance(step, plans.RowStrips):
        return list(step.launches)
    return [x for block in plans.inner(step) for x in block]


def _sources(nodes: Iterable[hlo.Node]) -> list[Source]:
    """Returns the sources of nodes, in the order of the source."""
    sources = {source_of(x) for x in nodes if not isinstance(x, _LEAVES)}
    known = [source for source in sources if source is not None]
    return sorted(known, key=lambda s: (s.file, s.line, s.column, s.end_line, s.end_column))


def _what(step: plans.Step) -> str:
    match step:
        case plans.Launch(kernel=Kernel(loop=While()) as kernel):
            lanes = _extents(kernel.extents)
            return f"a loop in registers{f' for each of {lanes}' if lanes else ''}"
        case plans.Launch(kernel=Kernel() as kernel):
            node = step.nodes[0] if step.nodes else None
            if isinstance(node, hlo.Reduce):
                summed = _extents([node.x.shape[d] for d in node.dims])
                over = _extents(node.shape)
                return f"reduces {summed}{f' for each of {over}' if over else ''}"
            if isinstance(node, hlo.Dot):
                return f"{_extents(node.x.shape)} @ {_extents(node.y.shape)} by a kernel"
            if node is None or isinstance(node, _UPDATES):
                shape = kernel.parallel
            else:
                shape = node.shape
            return f"one pass over {_extents(shape)}" if shape else "computes a number"
        case plans.RowStrips():
            return f"{len(step.launches)} passes, each over {step.count} strips that fit in a cache"
        case plans.Gemm():
            batch = f"{step.batch} x " if step.batch > 1 else ""
            return f"{batch}{step.m}x{step.k} @ {step.k}x{step.n} by BLAS"
        case plans.LibraryCall():
            by = "NumPy" if step.native is None else "native code"
            return f"{step.call.name} by {by}"
        case plans.HostCall():
            return f"calls Python: {step.name}"
        case plans.Collective():
            return step.node.kind.replace("_", " ")
        case plans.Loop():
            return "loop" if step.trips is None else f"loop of {step.trips} iterations"
        case plans.Branch():
            return f"one of {len(step.cases)} cases"
        case plans.Copy():
            return "copy"
        case _:
            raise AssertionError(step)


def _extents(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def line_text(file: str, line: int) -> str:
    """Returns a line of a file without its indentation; "" if the source is unknown."""
    return linecache.getline(file, line).strip()


def _recomputed(
    work: Sequence[Work], plan: plans.Plan, values: Values
) -> list[tuple[Named, list[Work]]]:
    """Returns the values that several steps recompute instead of reading them from memory."""
    users: dict[hlo.Node, list[Work]] = {}
    for each in with_inner(work):
        if each.kind == "kernel":
            for node in dict.fromkeys(nodes_of(each.steps[0], plan.stored)):
                if not isinstance(node, _MOVES):
                    users.setdefault(node, []).append(each)
    recomputed: dict[Named, list[Work]] = {}
    for node, steps in users.items():
        named = values.named(node) if len(steps) > 1 else None
        if named is not None:
            for each in steps:
                if each not in recomputed.setdefault(named, []):
                    recomputed[named].append(each)
    return list(recomputed.items())
