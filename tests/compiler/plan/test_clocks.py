"""A clock follows each step, but not the steps of short loops."""

import numpy as np
from tests.compiler.plan.executed import kinds

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.plan import ir
from jitney.compiler.plan.clocks import with_clocks


def launch(n):
    kernel = parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < {n} {{\n  %0 = load p0[i] : float32\n"
        "  store p1[i] <- %0\n}"
    )
    return ir.Launch(kernel, (ir.Buffer("arena", 4 * n), ir.Buffer("arena", 4 * n)))


def loop(n):
    x, flag = ir.Buffer("arena", 8), ir.Buffer("arena", 1)
    return ir.Loop([ir.Copy(flag, x)], flag, [launch(n), ir.SwapBuffers(x, flag)])


def clocked(*steps, **options):
    return with_clocks(ir.Plan("f", list(steps), (), ()), **options)


def test_a_reading_follows_each_step():
    first, second = launch(8), launch(9)
    found = clocked(first, second)
    steps = found.plan.steps
    assert kinds(steps) == ["Clock", "Launch", "Clock", "Launch", "Clock"]
    assert [s.index for s in steps[::2]] == [-1, 0, 1] and found.steps == [first, second]
    assert found.counters.size == 1 + 2 * 2 + 2 and found.events is None
    assert found.original.steps == [first, second]
    assert any(x is found.counters for x in found.plan.keep_alive)


def test_steps_of_short_loops_have_no_clocks():
    short, long = loop(4), loop(COSTS.clocked_work)
    found = clocked(short, long)
    timed = [short, *long.cond, long.body[0], long]
    assert all(s is t for s, t in zip(found.steps, timed, strict=True))
    _, first, _, second, _ = found.plan.steps
    assert kinds(first.body) == ["Launch", "SwapBuffers"]
    assert kinds(second.body) == ["Launch", "Clock", "SwapBuffers"]
    assert kinds(second.cond) == ["Copy", "Clock"]


def test_calls_out_of_the_program_are_always_timed():
    call = ir.HostCall("f", lambda: None, (), ())
    branch = ir.Branch(ir.Buffer("arena", 4), [[call], []])
    found = clocked(branch)
    assert all(s is t for s, t in zip(found.steps, [call, branch], strict=True))


def test_times_are_read_by_step():
    found = clocked(launch(8), launch(9), most_events=5)
    assert found.events.size == 11
    found.counters[:] = [0, 10, 1, 20, 2, 30, 7]
    assert (found.taken(0), found.taken(1), found.calls) == ((10, 1), (20, 2), 7)
    assert found.counters.dtype == np.int64
