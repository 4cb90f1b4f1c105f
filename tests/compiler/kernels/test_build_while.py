"""Loops whose carries are few scalars run in registers, lane by lane, and compute the same."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels import interpret, ir
from jitney.compiler.kernels.build_while import build_while
from jitney.compiler.kernels.verify import verify

F32, I32, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)


def built(node, in_place=()):
    return build_while(node, set(in_place), lambda n: True, lambda kernel: kernel)


def run(found, node, values):
    """The final carries of a loop kernel, by the interpreter."""
    buffers, results = [], [np.array(v) for v in values]
    for p in found.params:
        if isinstance(p, hlo.Constant):
            buffers.append(p.value.reshape(-1))
        else:
            buffers.append((results if p[0] in ("finish", "stored") else values)[p[1]].reshape(-1))
    verify(found.kernel)
    interpret.run(found.kernel, buffers)
    return results


def looped(step, *values, count=4):
    """A counted loop from parameters, its operands with the counter first."""
    b = Builder()
    xs = [b.parameter(k, TensorType(v.shape, v.dtype)) for k, v in enumerate(values)]
    node = b.for_(count, xs, step)[0].node
    return xs, node, [np.int32(0), *values]


def check(step, *values, in_place=(), extents=None):
    """The loop kernel of a loop computes its carries; it has lanes of `extents`."""
    xs, node, operands = looped(step, *values)
    results = [hlo.Project(t, 10_000 + i, node, i) for i, t in enumerate(node.type)]
    expected = run_region(hlo.Region(tuple(xs), tuple(results)), values)
    found = built(node, in_place)
    assert extents is None or found.kernel.extents == extents
    for k, (x, y) in enumerate(zip(run(found, node, operands), expected, strict=True)):
        np.testing.assert_allclose(x, y, rtol=1e-6, err_msg=str(k))
    return found.kernel


def test_scalars_and_small_arrays_are_carried():
    def step(b, i, x, v):
        w = b.concatenate([b.slice(v, (1,), (3,), (1,)), b.reshape(x, (1,))], 0)
        return [b.apply("mul", x, b.convert(i, F32)), b.apply("add", w, b.reverse(v, (0,)))]

    kernel = check(step, np.float32(3), np.float32([1, 2, 4]), extents=())
    assert len(kernel.loop.carries) == 5 and kernel.loop.trips == 4


def test_contractions_updates_and_bits_are_written_out():
    def step(b, i, m, v):
        w = b.dot(m, v, ((1,), (0,)), ((), ()))
        row = b.reshape(b.apply("neg", w), (1, 2))
        m = b.dynamic_update_slice(m, row, [i, b.constant(np.int32(0))])
        halves = b.bitcast(b.bitcast(b.convert(w, I32), np.int16), I32)
        return [m, b.convert(halves, F32)]

    check(step, np.float32([[0, 1], [2, -1]]), np.float32([3, -2]), extents=())


def test_padding_is_written_out():
    def step(b, i, x, v):
        inner = b.slice(v, (1,), (3,), (1,))
        between = b.slice(b.pad(inner, x, (1,), (2,), (1,)), (1,), (4,), (1,))
        return [b.apply("add", x, x), b.apply("add", between, b.pad(inner, x, (-1,), (2,), (0,)))]

    check(step, np.float32(3), np.float32([1, 2, 4]), extents=())


def test_long_carries_have_a_lane_for_each_row():
    n = COSTS.max_carried + 1

    def step(b, i, x):
        return [b.apply("sub", b.apply("mul", x, x), b.full((n,), 0.75, F32))]

    kernel = check(step, np.linspace(-1, 1, n).astype(np.float32), extents=(n,))
    uniform = ir.invariants(kernel)
    assert uniform[kernel.loop.condition] and not uniform[kernel.loop.next_values[-1]]


def test_rows_are_stored_in_place():
    def step(b, i, x, out):
        x = b.apply("add", x, x)
        return [x, b.dynamic_update_slice(out, b.reshape(x, (1,)), [i])]

    kernel = check(step, np.float32(1.5), np.zeros(4, np.float32), in_place=[2], extents=())
    assert len(kernel.outputs) == 1 and len(kernel.loop.carries) == 2


def test_an_iteration_reads_what_it_updates_in_place():
    def step(b, i, x, out):
        zero = b.constant(np.int32(0))
        before = b.reshape(b.dynamic_slice(out, [zero], (1,)), ())
        x = b.apply("add", x, before)
        return [x, b.dynamic_update_slice(out, b.reshape(x, (1,)), [zero])]

    check(step, np.float32(1.5), np.ones(4, np.float32), in_place=[2], extents=())


def test_lanes_do_not_read_what_they_update_in_place():
    n = COSTS.max_carried + 1

    def step(b, i, x, out):
        zero = b.constant(np.int32(0))
        before = b.reshape(b.dynamic_slice(out, [i, zero], (1, n)), (n,))
        return [
            b.apply("add", x, before),
            b.dynamic_update_slice(out, b.reshape(x, (1, n)), [i, zero]),
        ]

    _, node, _ = looped(step, np.ones(n, np.float32), np.ones((4, n), np.float32))
    assert built(node, in_place=[2]) is None


@pytest.mark.parametrize("fn", ["or", "and"])
def test_a_loop_over_lanes_continues_while_any_lane_does(fn):
    n = COSTS.max_carried + 1

    def goes_on(b, x):
        return b.apply("lt", x, b.full((n,), 10, F32))

    def test(b, x):
        return [b.reduce(goes_on(b, x), fn, (0,))]

    def body(b, x):
        return [b.apply("select", goes_on(b, x), b.apply("add", x, x), x)]

    b = Builder()
    start = b.parameter(0, TensorType((n,), F32))
    types = [start.type]
    node = b.while_(b.region(types, test), b.region(types, body), [start])[0].node
    found = built(node)
    if fn == "and":
        assert found is None
    else:
        assert found is not None and found.kernel.extents == (n,)


@pytest.mark.parametrize(
    "step",
    [
        lambda b, i, x: [b.sort([x], 0, 1, True)[0]],
        lambda b, i, x: [b.reverse(x, (0,))],  # lanes read each other's elements
        lambda b, i, x: [b.cumulative(x, "add", 0, False)],
    ],
)
def test_other_loops_are_none(step):
    _, node, _ = looped(step, np.zeros(COSTS.max_carried + 1, np.float32))
    assert built(node) is None
