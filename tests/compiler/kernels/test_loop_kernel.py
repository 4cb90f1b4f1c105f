"""Loops whose carries are few scalars run in registers, lane by lane, and compute the same."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.kernels.loop_kernel import (
    CarrySlot,
    LoopCarried,
    LoopKernel,
    NotSunkError,
    build_loop,
    changing_statements,
    check_uniform,
    counted_by,
    varying,
)
from jitney.compiler.scalar_functions import lookup
from jitney.core.util.record import replace

F32, I32, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)


def built(node, in_place=()):
    return build_loop(node, set(in_place), lambda n: True, lambda kernel: kernel)


def run(found, node, values):
    """The final carries of a loop kernel, by evaluating its statements for each lane."""
    kernel = found.kernel
    buffers, results = [], [np.array(v) for v in values]
    for p in found.params:
        if isinstance(p, hlo.Constant):
            buffers.append(p.value.reshape(-1))
        else:
            buffers.append((results if p[0] in ("finish", "stored") else values)[p[1]].reshape(-1))

    def at(index, lane, done):
        moved = sum(c * lane for c in index.coefficients)
        return index.offset + moved + sum(int(done[t]) * f for t, f in index.terms)

    def statement(s, lane, carry, done):
        match s:
            case LoopCarried():
                return carry[s.index]
            case ir.Const():
                return s.value
            case ir.Load():
                return buffers[s.param][at(s.index, lane, done)]
            case ir.IndexValue():
                return s.dtype.type(at(s.index, lane, done))
        row = lookup(s.fn)
        extra = () if row.result is not None else (s.dtype,)
        return row.reference(*[np.asarray(done[a]) for a in s.args], *extra)

    for lane in range(max(kernel.extents, default=1)):
        carry = [buffers[p.start][at(p.index, lane, [])] for p in kernel.carried]
        while True:
            done = []
            for s in kernel.body:
                done.append(statement(s, lane, carry, done))
            if not done[kernel.condition]:
                break
            for o in kernel.outputs:
                buffers[o.param][at(o.index, lane, done)] = done[o.value]
            carry = [done[k] for k in kernel.next_values]
        for p, value in zip(kernel.carried, carry, strict=True):
            buffers[p.finish][at(p.index, lane, [])] = value
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
    assert len(kernel.carried) == 5 and kernel.trips == 4


def test_contractions_updates_and_bits_are_written_out():
    def step(b, i, m, v):
        w = b.dot(m, v, ((1,), (0,)), ((), ()))
        row = b.reshape(b.apply("neg", w), (1, 2))
        m = b.dynamic_update_slice(m, row, [i, b.constant(np.int32(0))])
        halves = b.bitcast(b.bitcast(b.convert(w, I32), np.int16), I32)
        return [m, b.convert(halves, F32)]

    check(step, np.float32([[0, 1], [2, -1]]), np.float32([3, -2]), extents=())


def test_long_carries_have_a_lane_for_each_row():
    n = COSTS.max_carried + 1

    def step(b, i, x):
        return [b.apply("sub", b.apply("mul", x, x), b.full((n,), 0.75, F32))]

    kernel = check(step, np.linspace(-1, 1, n).astype(np.float32), extents=(n,))
    assert varying(kernel)[kernel.next_values[-1]] and not varying(kernel)[kernel.condition]


def test_rows_are_stored_in_place():
    def step(b, i, x, out):
        x = b.apply("add", x, x)
        return [x, b.dynamic_update_slice(out, b.reshape(x, (1,)), [i])]

    kernel = check(step, np.float32(1.5), np.zeros(4, np.float32), in_place=[2], extents=())
    assert len(kernel.outputs) == 1 and len(kernel.carried) == 2


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


def loop(condition, following, *statements, varies=True, outputs=()):
    """A loop kernel over lanes whose one carried scalar becomes the statement `following`."""
    body = (LoopCarried(0, I32, varies), *statements)
    slot = CarrySlot(0, 1, Affine(0, (int(varies),)), I32, varies)
    return LoopKernel((4,), (I32, I32), (slot,), body, condition, (following,), outputs)


TEN, ONE = ir.Const(np.int32(10).reshape(())), ir.Const(np.int32(1).reshape(()))
COUNTING = (TEN, ONE, ir.Call("lt", (0, 1), BOOL), ir.Call("add", (0, 2), I32))


def test_counted_loops_have_a_fixed_bound_and_a_constant_step():
    counted = loop(3, 4, *COUNTING, varies=False)
    assert counted_by(counted) == (0, 1)
    assert counted_by(loop(3, 4, *COUNTING)) is None  # a counter for each lane
    down = replace(counted, body=(*counted.body[:4], ir.Call("sub", (0, 2), I32)))
    assert counted_by(down) is None
    moving = replace(
        counted, body=(*counted.body[:3], ir.Call("lt", (0, 0), BOOL), counted.body[4])
    )
    assert counted_by(moving) is None


def test_what_changes_between_iterations():
    load = ir.Load(1, Affine(0, (1,)), I32)
    fixed = loop(3, 4, *COUNTING, load)
    assert changing_statements(fixed) == [True, False, False, True, True, False]
    written = replace(fixed, outputs=(ir.Store(1, Affine(0, (1,)), 0),))
    assert changing_statements(written)[5]


def test_lanes_that_have_ended_must_keep_their_carry():
    frozen = loop(3, 5, *COUNTING, ir.Call("select", (3, 4, 0), I32))
    check_uniform(frozen)
    with pytest.raises(NotSunkError, match="a lane changes after its loop has ended"):
        check_uniform(loop(3, 4, *COUNTING))
    store = ir.Store(1, Affine(0, (1,)), 4)
    with pytest.raises(NotSunkError, match="lanes write after their loop has ended"):
        check_uniform(replace(frozen, outputs=(store,)))


def test_shared_scalars_may_not_become_different():
    load = ir.Load(0, Affine(0, (1,)), I32)
    shared = loop(3, 5, *COUNTING, load, varies=False)
    with pytest.raises(NotSunkError, match="a scalar shared by all lanes becomes per-lane"):
        check_uniform(shared)
