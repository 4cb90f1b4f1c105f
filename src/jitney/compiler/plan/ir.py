"""The plan: what one native entry does, step by step, on buffers.

    plan ::= Plan(steps, inputs, outputs, arena_bytes)
    step ::= Launch(kernel, buffers) | RowStrips(rows, strip, launches) | Gemm(...)
           | LibraryCall(call, args, results)
           | Collective(node, args, result) | HostCall(fn, args, results) | Wait(call)
           | Copy(to, source) | SwapBuffers(carry, after)
           | Loop(cond, predicate, body) | Branch(index, cases) | Clock(counters, index)

A buffer is an input or an output of the program, a constant, or a stretch of the arena that is allotted
to it between its first and its last use. Between the launches of `RowStrips` a buffer may also be a
stretch of the stack of the thread that works on a strip.

Steps that compute something have `nodes`: those of the tensor IR whose values they write. What is
computed on the way are their operands, up to nodes that the plan has `stored`. They are for readers
(`jitney.explain`): no step does anything else for them.
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
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.core.record import field, record, replace

Nodes: TypeAlias = tuple[hlo.Node, ...]


@record(eq=False)
class Buffer:
    """Contiguous memory for one tensor.

    Attributes:
      place: what kind of memory.
      nbytes: its size; of a "strip", for the rows of one strip.
      index: number of the input or output; offset in the arena, or among the strip's, once allotted.
      value: data of a constant.
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
    """Runs a kernel over its whole iteration domain.

    Attributes:
      kernel: which.
      buffers: one for each of its params.
      apart: why it is not part of the `RowStrips` that compute its operands, for readers.
    """

    kernel: Kernel | LoopKernel
    buffers: tuple[Buffer, ...]
    apart: str = ""
    nodes: Nodes = ()


@record
class RowStrips:
    """Runs all of `launches` on a strip of rows, then on the next (strip mining).

    So what one launch has read or written is in the processor's caches when the next one reads it.
    Strips are independent of each other: threads share them.

    Attributes:
      rows: which divide the outermost loop of each launch, and each buffer that one launch writes and
        another touches, in as many equal parts.
      strip: rows of a strip; the last may have fewer.
      launches: at least two. Their buffers of the place "strip" hold the rows of one strip.
    """

    rows: int
    strip: int
    launches: tuple[Launch, ...]

    @property
    def count(self) -> int:
        """How many strips there are."""
        return -(-self.rows // self.strip)


@record
class Gemm:
    """out[b] = x[b] @ y[b], row-major m x k times k x n.

    Attributes:
      trans_x: whether x is stored transposed; `trans_y` alike.
      adds: whether the product is added to what is in `out`.
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
    """Calls a function of a library: its machine code, or its reference implementation.

    Attributes:
      call: what is called, on which types.
      native: how machine code is called; None if there is none.
      beside: buffers that machine code needs beside operands and results: the constant of its options,
        and its workspace if it has one.
    """

    call: library.Call
    args: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    native: library.NativeCall | None = None
    beside: tuple[Buffer, ...] = ()
    nodes: Nodes = ()


@record
class Collective:
    """What the participants of a group compute together; of one alone, a copy.

    Attributes:
      node: which says what.
      args: the operand, or none.
    """

    node: hlo.Collective
    args: tuple[Buffer, ...]
    result: Buffer
    nodes: Nodes = ()


@record
class HostCall:
    """Calls a Python function of arrays, which returns its results or writes them in place.

    With `finish` the call is asynchronous: a `Wait` completes it.
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
    """Copies the bytes of a buffer."""

    to: Buffer
    source: Buffer
    nodes: Nodes = ()


@record
class SwapBuffers:
    """Ends an iteration of a loop: `carry` gets the value of `after`, without a copy.

    The two exchange their memory, so both belong to the loop while it runs; the value of `after` is not
    read afterwards. When the loop has ended, the value of `carry` is in its own memory again.
    """

    carry: Buffer
    after: Buffer


@record
class Loop:
    """Runs `cond`, then `body`, for as long as the byte in `predicate` is not 0.

    Buffers in `filled` are written part by part, each iteration another; they need not be written
    before, and there is at least one iteration if there are any. `trips` is the number of iterations,
    where it is known.
    """

    cond: list[Step]
    predicate: Buffer
    body: list[Step]
    filled: tuple[Buffer, ...] = ()
    trips: int | None = None
    nodes: Nodes = ()

    @property
    def swapped(self) -> list[SwapBuffers]:
        """The steps at the end of the body by which carries get their next values."""
        return [step for step in self.body if isinstance(step, SwapBuffers)]


@record
class Branch:
    """Runs one of `cases`, chosen by the int32 in `index`, clamped."""

    index: Buffer
    cases: list[list[Step]]
    nodes: Nodes = ()


@record
class Clock:
    """Adds the time since the last clock reading to the time of a step.

    Attributes:
      counters: int64[1 + 2 n] for n steps: the last clock reading, then for each step its ticks and
        how often it ran.
      index: of the step; -1 at the start of a call: nothing is added.
      events: int64[1 + 2 n], where readings are recorded: their number, then for each of the first n
        the index and the ticks. None if only sums are needed.
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
"""Steps that have `nodes`."""


@record
class Plan:
    """A whole program.

    Attributes:
      stored: nodes that are in memory, and why; for readers.
      optimization_level: of its machine code; see `hlo.ir.Module`.
    """

    name: str
    steps: list[Step]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    arena_bytes: int = 0
    keep_alive: list[Any] = field(default_factory=list)
    stored: dict[hlo.Node, fusion.Reason] = field(default_factory=dict)
    optimization_level: int = 2


def touched(step: Step) -> list[Buffer]:
    """Buffers that a step itself reads or writes (not those of steps within it)."""
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
    """Returns the lists of steps within a step."""
    match step:
        case Loop():
            return [step.cond, step.body]
        case Branch():
            return step.cases
        case _:
            return []


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Yields the steps, and those within them."""
    for step in steps:
        yield step
        for block in inner(step):
            yield from all_steps(block)


def all_touched(step: Step) -> Iterator[Buffer]:
    """Buffers that a step, or one within it, reads or writes; some of them several times."""
    for within in all_steps([step]):
        yield from touched(within)


def with_inner(step: Step, change: Callable[[list[Step]], list[Step]]) -> Step:
    """Returns a loop or branch with the lists of steps within it changed; any other step as it is."""
    match step:
        case Loop():
            return replace(step, cond=change(step.cond), body=change(step.body))
        case Branch():
            return replace(step, cases=[change(case) for case in step.cases])
        case _:
            return step
