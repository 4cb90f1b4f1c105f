"""Loops poll for signals every so often, and end when the program has to."""

import ctypes

import numpy as np
import pytest
from tests.compiler.written import call, loaded

from jitney.compiler.codegen import polls
from jitney.compiler.codegen.polls import Countdown, Strips, Unwatched
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Carried, Carry, While
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import host
from jitney.compiler.llvm.values import Value, constant

COST = COSTS.poll_loop // 100  # of an iteration: 100 of them between two polls


def counting(watch_of, n, ends_after=None):
    """(result, polls, iterations) of a loop that counts to `n`; poll `ends_after` ends it."""
    e = Emitter(host())
    watch = watch_of(e)
    before = e.block
    e.jump("head")
    e.label("head")
    watch.begin(before)
    i, place = Value("%i", "i64"), len(e.lines)
    e.lines.append("")
    if isinstance(watch, Strips):
        watch.branch(i, "body", "end")
    else:
        e.branch(e.icmp("slt", i, constant(n, "i64")), "body", "end")
    e.label("body")
    after = e.add(i, constant(1, "i64"))
    e.line(f"store {after!r}, ptr %out")
    edges = [f"[0, %{before}]"]
    edges += [f"[{(after if is_next else i).text}, %{b}]" for b, is_next in watch.repeat()]
    e.lines[place] = f"  %i = phi i64 {', '.join(edges)}"
    e.label("end")
    body = "\n".join(["entry:", *e.lines, "  ret i32 1"])
    text = f"define i32 @main(ptr %call, ptr %out) {{\n{body}\n}}\n{e.module_text()}"
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    def poll(_):
        seen.append(int(out[0]))
        return int(ends_after is None or len(seen) < ends_after)

    out = np.zeros(1, np.int64)
    address = ctypes.cast(poll, ctypes.c_void_p).value
    code = loaded(text, known={"jitney.poll": address})
    return call(code, "main", np.zeros(1), out), seen, int(out[0])


WATCHES = {
    "countdown": lambda n: lambda e: Countdown(e, "head", COST),
    "strips": lambda n: (
        lambda e: Strips(e, "head", COST, 0, constant(0, "i64"), constant(n, "i64"))
    ),
}


@pytest.mark.parametrize("name", WATCHES)
def test_polls_are_as_many_iterations_apart(name):
    status, seen, iterations = counting(WATCHES[name](350), 350)
    assert (status, iterations) == (1, 350) and seen == [100, 200, 300]


@pytest.mark.parametrize("name", WATCHES)
def test_a_poll_may_end_the_loop(name):
    status, seen, iterations = counting(WATCHES[name](350), 350, ends_after=2)
    assert (status, seen, iterations) == (0, [100, 200], 200)


def test_expensive_iterations_poll_each_time_and_unwatched_never():
    status, seen, _ = counting(lambda e: Countdown(e, "head", 10 * COSTS.poll_loop), 3)
    assert status == 1 and seen == [1, 2, 3]
    assert counting(lambda e: Unwatched(e, "head"), 350) == (1, [], 350)


def kernel(*extents):
    axes = ", ".join(f"for {'ijk'[k]} < {n}" for k, n in enumerate(extents))
    index = "i*3 + j*5 + k*7" if len(extents) > 2 else "i"
    store = index.replace("*3", "*1001").replace("*5", "*77")
    return parse_kernel(
        f"kernel k(p0: float32, p1: float32) {axes} {{\n  %0 = load p0[{index}] : float32\n"
        f"  %1 = sin %0 : float32\n  store p1[{store}] <- %1\n}}"
    )


def test_kernels_poll_within_long_iterations_of_the_outermost_loop():
    assert polls.polling_position(kernel(10**9)) is None  # the caller polls between chunks
    large = kernel(4, 3000, COSTS.poll_index)
    position = polls.polling_position(large)
    assert position is not None and polls.has_polls(large)
    assert polls.polling_position(kernel(4, 3, 2)) is None


@pytest.mark.parametrize(("trips", "expected"), [(None, True), (5, False), (10**9, True)])
def test_loops_of_few_iterations_do_not_poll(trips, expected):
    int32 = np.dtype(np.int32)
    body = (Carried(0, int32, False), ir.Call("neg", (0,), int32))
    slot = Carry(0, 1, Affine(0, ()), int32, False)
    loop = ir.Kernel((), 0, (int32,) * 2, body, (), loop=While((slot,), 1, (1,), trips))
    assert polls.has_polls(loop) is expected
