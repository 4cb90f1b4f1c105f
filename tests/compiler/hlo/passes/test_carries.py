"""Loops lose carries that are dead, congruent or constant, and compute the same."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run
from jitney.compiler.hlo.passes import carries

F32 = np.dtype(np.float32)
N = 100


def looped(step, init, used, count=5):
    """A program of a loop whose carries start as `init` and become `step(builder, i, *carries)`.

    Strings are names of parameters: equal ones are one; numbers are constants.
    """
    b = Builder()
    names = list(dict.fromkeys(x for x in init if isinstance(x, str)))
    parameters = [b.parameter(k, ir.TensorType((N,), F32)) for k in range(len(names))]
    starts = [
        parameters[names.index(x)] if isinstance(x, str) else b.constant(np.float32(x))
        for x in init
    ]
    results = b.for_(count, starts, step)
    return b.module("f", parameters, [results[k] for k in used])


def loop_of(module):
    nodes = traversal.topological_order(traversal.roots(module.region))
    return next(n for n in nodes if isinstance(n, ir.While))


def checked(module):
    """The loop after the pass, which changes no result."""
    values = [
        np.random.default_rng(k).normal(size=N).astype(np.float32)
        for k in range(len(module.region.parameters))
    ]
    new = carries.run(module)
    for x, y in zip(run(module, values), run(new, values), strict=True):
        np.testing.assert_array_equal(x, y)
    return loop_of(new)


def test_carries_that_nothing_needs_are_dropped():
    def step(b, i, a, c, d):
        return [b.apply("sin", a), b.apply("add", c, a), b.apply("mul", d, c)]

    module = looped(step, "xyz", used=[0])
    assert carries.live_carries(loop_of(module), {1}) == [0, 1]
    assert carries.live_carries(loop_of(module), {3}) == [0, 1, 2, 3]
    assert len(checked(module).init) == 2
    assert len(checked(looped(step, "xyz", used=[1])).init) == 3


def test_carries_that_start_and_change_alike_are_one():
    def step(b, i, a, c, d):
        return [b.apply("sin", a), b.apply("sin", c), b.apply("sin", d)]

    module = looped(step, "xxy", used=[0, 1, 2])
    kept, places = carries.congruent_carries(loop_of(module))
    assert (kept, places) == ([0, 1, 3], [0, 1, 1, 2])
    assert len(checked(module).init) == 3


def test_congruence_holds_through_swaps_only_if_all_agree():
    def step(b, i, a, c, d):
        return [c, a, b.apply("neg", d)]

    assert len(checked(looped(step, "xxx", used=[0, 1, 2])).init) == 3  # i, x, -x
    assert len(checked(looped(step, "xyx", used=[0, 1, 2])).init) == 4


def test_constants_that_stay_are_no_carries():
    def step(b, i, a, k):
        return [b.apply("mul", a, b.broadcast(k, (N,), ())), k]

    module = looped(step, ["x", 2.0], used=[0, 1])
    loop = checked(module)
    assert len(loop.init) == 2 and all(x.shape != () or x.dtype == np.int32 for x in loop.init)


def test_what_the_last_iteration_computed_is_carried():
    """Of exp(a) and exp(next a), the first is the second of the iteration before."""

    def step(b, i, a, total):
        after = b.apply("mul", a, b.full((N,), 0.5, F32))
        both = b.apply("add", b.apply("exp", a), b.apply("exp", after))
        return [after, b.apply("add", total, both)]

    module = looped(step, "xy", used=[1])
    known = carries.common_across_iterations(loop_of(module))
    assert [(node.fn, earlier.fn) for node, earlier in known.items()] == [("exp", "exp")]
    loop = checked(module)
    assert len(loop.init) == 4
    order = traversal.topological_order(loop.body.results)
    assert sum(isinstance(n, ir.Apply) and n.fn == "exp" for n in order) == 1


def test_cheap_values_are_computed_twice():
    def step(b, i, a, total):
        after = b.apply("neg", a)
        both = b.apply("add", b.apply("abs", a), b.apply("abs", after))
        return [after, b.apply("add", b.apply("exp", total), both)]

    assert carries.common_across_iterations(loop_of(looped(step, "xy", used=[1]))) == {}


@pytest.mark.parametrize("kept", [[1], [2, 1]])
def test_projected_loops_have_the_invariants_they_need(kept):
    def step(b, i, a, c, fixed):
        return [b.apply("add", a, fixed), b.apply("sin", c), fixed]

    loop = loop_of(looped(step, "xyz", used=[0]))
    projected = carries.project_carries(loop, [0, *kept])
    starts = [loop.init.index(x) for x in projected.init]
    assert starts == [0, *kept, 3]
