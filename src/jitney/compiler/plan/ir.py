"""The plan IR: the steps, on buffers, that the native code of a program executes.

    plan ::= Plan(steps, inputs, outputs, arena_bytes)
    step ::= Launch(kernel, buffers) | RowStrips(rows, strip, launches) | Gemm(...)
           | LibraryCall(call, args, results)
           | Collective(node, args, result) | HostCall(fn, args, results) | Wait(call)
           | Copy(to, source) | SwapBuffers(carry, after)
           | Loop(cond, predicate, body) | Branch(index, cases) | Clock(counters, index)

A buffer is an input or an output of the program, a constant, or a range of the arena that is
allocated to it from its first to its last use. A buffer that is only used by the launches of a
`RowStrips` step can also be on the stack of the thread that processes a strip.

The field `nodes` of a step lists the nodes of the tensor IR whose values the step writes. The step
also computes their operands, and so on, up to the nodes in the plan's `stored`. These fields are
used for explanations (`jitney.explain`) only; no step depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels.ir import Kernel
from jitney.core.util.record import field, record, replace

Nodes: TypeAlias = tuple[hlo.Node, ...]


@record(eq=False)
class Buffer:
    """Contiguous memory for one tensor.

    Attributes:
      place: the kind of memory.
      nbytes: its size; for a "strip", the size of the rows of one strip.
      index: the number of the input or output, or the offset in the arena or in the strip's memory
        once it is assigned.
      value: the data of a constant.
    """

    place: Literal["input", "output", "arena", "constant", "strip"]
    nbytes: int
    index: int = -1
    value: np.ndarray | None = None

    def __str__(self) -> str:
        if self.place == "constant":
            return f"constant[{self.nbytes}]"
        return f"{self.place}{self.index}"


@record
class Launch:
    """Runs a kernel over its complete iteration domain.

    Attributes:
      kernel: the kernel.
      buffers: one for each parameter of the kernel.
      apart: the reason why it is not part of the `RowStrips` that compute its operands, for
        explanations.
    """

    kernel: Kernel
    buffers: tuple[Buffer, ...]
    apart: str = ""
    nodes: Nodes = ()


@record
class RowStrips:
    """Runs all of `launches` on one strip of rows, then on the next one (strip mining).

    The data that one launch has read or written is therefore still in cache when the next launch
    reads it. Strips are independent of each other, and are divided among threads.

    Attributes:
      rows: the number of rows. The outermost loop of each launch, and each buffer that one launch
        writes and another one accesses, is divided into this number of equal parts.
      strip: the number of rows of a strip; the last strip can have fewer.
      launches: at least two launches. Their buffers with place "strip" hold the rows of one strip.
    """

    rows: int
    strip: int
    launches: tuple[Launch, ...]

    @property
    def count(self) -> int:
        """The number of strips."""
        return -(-self.rows // self.strip)


@record
class Gemm:
    """A batched matrix product by BLAS: out[b] = x[b] @ y[b], row-major m x k times k x n.

    Attributes:
      trans_x: whether x is stored transposed; `trans_y` is the same for y.
      adds: whether the product is added to the contents of `out`.
    """

    x: Buffer
    y: Buffer
    out: Buffer
    dtype: np.dtype
    batch: int
    m: int
    n: int
    k: int
    trans_x: bool
    trans_y: bool
    adds: bool = False
    nodes: Nodes = ()


@record
class LibraryCall:
    """Calls the machine code of a library function, or its reference implementation.

    Attributes:
      call: the function, and the types of operands and results.
      native: how to call its machine code; None if there is none.
      beside: the buffers that the machine code takes besides operands and results: a constant with
        its options, and a workspace if it needs one.
    """

    call: library.Call
    args: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    native: library.NativeCall | None = None
    beside: tuple[Buffer, ...] = ()
    nodes: Nodes = ()


@record
class Collective:
    """A collective among the participants of a group; a copy if there is only one.

    Attributes:
      node: the collective of the tensor IR.
      args: the operand; empty if there is none.
    """

    node: hlo.Collective
    args: tuple[Buffer, ...]
    result: Buffer
    nodes: Nodes = ()


@record
class HostCall:
    """Calls a Python function on arrays, which returns its results or writes them in place.

    If `finish` is given, the call is asynchronous, and a `Wait` step completes it.
    """

    name: str
    fn: Callable[..., Any]
    args: tuple[tuple[Buffer, TensorType], ...]
    results: tuple[tuple[Buffer, TensorType], ...]
    in_place: bool = False
    finish: Callable[..., None] | None = None
    nodes: Nodes = ()


@record
class Wait:
    """Completes an asynchronous call."""

    call: HostCall


@record
class Copy:
    """Copies the bytes of one buffer to another."""

    to: Buffer
    source: Buffer
    nodes: Nodes = ()


@record
class SwapBuffers:
    """Gives `carry` the value of `after`, without a copy, at the end of an iteration of a loop.

    The two buffers swap their memory, so both are in use while the loop runs. The value of `after`
    is not read afterwards. When the loop has ended, the value of `carry` is in its original memory
    again.
    """

    carry: Buffer
    after: Buffer


@record
class Loop:
    """Repeats `cond` and then `body` while the byte in `predicate` is not 0 after `cond`.

    Each iteration writes another part of the buffers in `filled`, which therefore need no initial
    values; if there are any, the loop has at least one iteration. `trips` is the trip count if it
    is known.
    """

    cond: list[Step]
    predicate: Buffer
    body: list[Step]
    filled: tuple[Buffer, ...] = ()
    trips: int | None = None
    nodes: Nodes = ()

    @property
    def swapped(self) -> list[SwapBuffers]:
        """The steps at the end of the body that give carries their next values without a copy."""
        return [step for step in self.body if isinstance(step, SwapBuffers)]


@record
class Branch:
    """Runs the case selected by the int32 in `index`, which is clamped."""

    index: Buffer
    cases: list[list[Step]]
    nodes: Nodes = ()


@record
class Clock:
    """Adds the time since the last clock reading to the time of a step.

    Attributes:
      counters: int64[1 + 2 n] for n steps: the last clock reading, then the ticks and the number of
        executions of each step.
      index: the index of the step; -1 at the start of a call, where no time is added.
      events: int64[1 + 2 n] for a record of the first n readings: the number of readings, then the
        index and the ticks of each. None if only sums are needed.
    """

    counters: np.ndarray
    index: int
    events: np.ndarray | None = None


Step: TypeAlias = (
    Launch
    | RowStrips
    | Gemm
    | LibraryCall
    | Collective
    | HostCall
    | Wait
    | Copy
    | SwapBuffers
    | Loop
    | Branch
    | Clock
)

ComputingStep: TypeAlias = (
    Launch | Gemm | LibraryCall | Collective | HostCall | Copy | Loop | Branch
)
"""The steps that have a field `nodes`."""


@record
class Plan:
    """A complete program.

    Attributes:
      arena_bytes: the size of the arena; -1 before memory is assigned to buffers.
      stored: the nodes that are stored in memory, with the reasons; for explanations.
      optimization_level: LLVM's optimization level; see `hlo.ir.Module`.
    """

    name: str
    steps: list[Step]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    arena_bytes: int = -1
    keep_alive: list[Any] = field(default_factory=list)
    stored: dict[hlo.Node, fusion.Reason] = field(default_factory=dict)
    optimization_level: int = 2


def touched(step: Step) -> list[Buffer]:
    """Returns the buffers that a step itself reads or writes, without those of nested steps."""
    match step:
        case Launch():
            return list(step.buffers)
        case RowStrips():
            used = dict.fromkeys(b for launch in step.launches for b in launch.buffers)
            return [b for b in used if b.place != "strip"]
        case Gemm():
            return [step.x, step.y, step.out]
        case LibraryCall():
            return [*step.beside, *step.args, *step.results]
        case Collective():
            return [*step.args, step.result]
        case HostCall():
            return [b for b, _ in (*step.args, *step.results)]
        case Wait():
            return touched(step.call)
        case Copy():
            return [step.to, step.source]
        case SwapBuffers():
            return [step.carry, step.after]
        case Loop():
            return [step.predicate, *step.filled, *(e.after for e in step.swapped)]
        case Branch():
            return [step.index]
        case Clock():
            return []


def inner(step: Step) -> list[list[Step]]:
    """Returns the lists of nested steps of a step."""
    match step:
        case Loop():
            return [step.cond, step.body]
        case Branch():
            return step.cases
        case _:
            return []


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yields the steps, including nested ones."""
    for step in steps:
        yield step
        for block in inner(step):
            yield from all_steps(block)


def all_touched(step: Step) -> Iterator[Buffer]:
    """Yields the buffers that a step or its nested steps access, some of them repeatedly."""
    for within in all_steps([step]):
        yield from touched(within)


def with_inner(step: Step, change: Callable[[list[Step]], list[Step]]) -> Step:
    """Returns `step` with `change` applied to its lists of nested steps, if it has any."""
    match step:
        case Loop():
            return replace(step, cond=change(step.cond), body=change(step.body))
        case Branch():
            return replace(step, cases=[change(case) for case in step.cases])
        case _:
            return step
