"""Passes on loops meet inner loops before outer ones, and know which results are used."""

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run
from jitney.compiler.hlo.passes.loops import change_loops, has_loops

F32 = np.dtype(np.float32)
VECTOR = ir.TensorType((3,), F32)


def nested():
    """Three times: five times x = x + 1, and x = 2 x."""
    b = Builder()
    x = b.parameter(0, VECTOR)

    def plus_one(c, i, x):
        return [c.apply("add", x, c.full((3,), 1, F32))]

    def step(c, i, x, y):
        (x,) = c.for_(5, [x], plus_one)
        return [c.apply("mul", x, c.full((3,), 2, F32)), y]

    return b.module("f", [x], b.for_(3, [x, x], step)[:1])


def kept(b, loop, used):
    return b.while_(loop.cond, loop.body, loop.init)


def test_inner_loops_come_first():
    seen = []

    def change(b, loop, used):
        seen.append((len(loop.init), used))
        return kept(b, loop, used)

    module = nested()
    changed = change_loops(module, change)
    assert seen == [(2, {1}), (3, {1})]
    x = np.float32([1, 2, 3])
    np.testing.assert_array_equal(run(changed, [x])[0], run(module, [x])[0])


def test_a_loop_may_be_replaced_by_other_nodes():
    def change(b, loop, used):
        if len(loop.init) == 3:
            return kept(b, loop, used)
        return [loop.init[0], b.apply("add", loop.init[1], b.full((3,), 5, F32))]

    changed = change_loops(nested(), change)
    (found,) = run(changed, [np.float32([0, 1, 2])])
    np.testing.assert_array_equal(found, [70, 78, 86])  # 8 x + 10 + 20 + 40


def test_loops_in_branches_are_changed():
    b = Builder()
    x = b.parameter(0, VECTOR)
    case = b.region([VECTOR], lambda c, x: c.for_(2, [x], lambda d, i, y: [d.apply("neg", y)]))
    module = b.module("f", [x], b.cond(b.constant(np.int32(0)), [case], [x]))
    changed = change_loops(
        module, lambda b, loop, used: [loop.init[0], b.apply("neg", loop.init[1])]
    )
    np.testing.assert_array_equal(run(changed, [np.ones(3, np.float32)])[0], -np.ones(3))


def test_programs_without_loops_stay_the_same_object():
    b = Builder()
    x = b.parameter(0, VECTOR)
    module = b.module("f", [x], [b.apply("sin", x)])
    assert not has_loops(module) and has_loops(nested())
    assert change_loops(module, kept).region is module.region
