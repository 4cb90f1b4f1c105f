"""Loop kernels as functions run each lane to its end, with the carry in registers."""

import numpy as np
import pytest
from tests.compiler.written import call, loaded

from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import ANY_RANGE, content_key
from jitney.compiler.kernels import interpret, ir
from jitney.compiler.kernels.ir import Affine, Carried, Carry, While
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import host
from jitney.core.util.record import replace

BOOL, F32, I32 = np.dtype(bool), np.dtype(np.float32), np.dtype(np.int32)
LANES, ONCE = Affine(0, (1,)), Affine(0, (0,))


def compiled(kernel):
    shared = Emitter(host())
    text = KernelWriter(kernel, host(), "k", shared, ANY_RANGE).text()
    return loaded(f"{text}\n{shared.module_text()}", shared.outlined)


def run(kernel, n, *buffers):
    pointers = np.array([b.ctypes.data for b in buffers])
    return call(compiled(kernel), "k", np.zeros(1), pointers, numbers=(0, n))


def collatz(lanes):
    """Steps of the Collatz sequence until it is 1: (x, count) for each lane."""

    def number(value):
        return ir.Const(np.asarray(value, I32))

    body = (
        Carried(0, I32, True), Carried(1, I32, True), number(1), number(2), number(3),
        ir.Call("ne", (0, 2), BOOL),
        ir.Call("rem", (0, 3), I32), ir.Call("eq", (6, 2), BOOL), ir.Call("div", (0, 3), I32),
        ir.Call("mul", (0, 4), I32), ir.Call("add", (9, 2), I32), ir.Call("select", (7, 10, 8), I32),
        ir.Call("select", (5, 11, 0), I32),  # a lane that has ended stays
        ir.Call("add", (1, 2), I32), ir.Call("select", (5, 13, 1), I32),
    )  # fmt: skip
    slots = (Carry(0, 1, LANES, I32, True), Carry(2, 3, LANES, I32, True))
    loop = While(slots, 5, (12, 14), trips=1)
    return ir.Kernel((lanes,), 0, (I32,) * 4, body, (), loop=loop)


@pytest.mark.parametrize("n", [1, 16, 21])
def test_lanes_end_one_by_one(n):
    x = np.arange(1, n + 1, dtype=np.int32)
    last, start, count = np.zeros(n, np.int32), np.zeros(n, np.int32), np.full(n + 1, -7, np.int32)
    assert run(collatz(n), n, x, last, start, count) == 1
    expected = []
    for value in x.tolist():
        steps = 0
        while value != 1:
            value, steps = (3 * value + 1 if value % 2 else value // 2), steps + 1
        expected.append(steps)
    np.testing.assert_array_equal(count, [*expected, -7])
    np.testing.assert_array_equal(last, np.ones(n))
    interpreted = np.zeros(n, np.int32)
    interpret.run(collatz(n), [x, last, start, interpreted])
    np.testing.assert_array_equal(interpreted, expected)


def summing(trips):
    """out[i] = x of iteration i < 10, for x = x + v[i], without lanes."""

    def number(value):
        return ir.Const(np.asarray(value, I32))

    here = Affine(0, (), ((0, 1),))
    body = (
        Carried(0, I32, False), Carried(1, F32, False), number(10),
        ir.Call("lt", (0, 2), BOOL), number(1), ir.Call("add", (0, 4), I32),
        ir.Load(4, here, F32), ir.Call("add", (1, 6), F32),
    )  # fmt: skip
    slots = (
        Carry(0, 1, Affine(0, ()), I32, False),
        Carry(2, 3, Affine(0, ()), F32, False),
    )
    store = (ir.Store(5, here, 7),)
    params = (I32, I32, F32, F32, F32, F32)
    return ir.Kernel((), 0, params, body, store, loop=While(slots, 3, (5, 7), trips))


def test_iterations_store_and_the_carry_is_written_at_the_end():
    v, out = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    i, end, x, last = np.zeros(1, I32), np.zeros(1, I32), np.float32([100]), np.zeros(1, F32)
    assert run(summing(10), 1, i, end, x, last, v, out) == 1
    np.testing.assert_array_equal(out, 100 + v.cumsum())
    assert (end[0], last[0]) == (10, 145)


def test_the_number_of_lanes_is_a_parameter_of_the_code():
    assert content_key(collatz(5)) == content_key(collatz(500))
    kernel = summing(10)
    assert content_key(kernel) != content_key(
        replace(kernel, loop=replace(kernel.loop, condition=0))
    )
    assert content_key(kernel) != content_key(summing(None))  # it polls
    assert content_key(kernel) != content_key(replace(kernel, outputs=()))
