"""Asynchronous calls: what overlaps with them, and that nothing conflicts with them."""

import numpy as np
import pytest
from tests.compiler.programs import Chooser, program
from tests.compiler.running import differs, run_plan

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.hlo import interpret, ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.text import print_plan
from jitney.compiler.plan.verify import verify_plan

F32 = np.dtype(np.float32)


def begin(x, result):
    """Until it is waited for, what it writes must not be read."""
    result[...] = 1


def finish(x, result):
    result[...] = x


def with_calls(module, chosen):
    """`module` with a call that goes on behind each node of `chosen`: a copy, made when it ends."""

    def within(region):
        return traversal.rewrite(region, make)

    def make(b, node, new):
        value = traversal.rebuild(b, traversal.with_regions(node, within), new.__getitem__)
        if node not in chosen:
            return value
        (copy,) = b.host_call(
            "copy", begin, [value], [node.tensor_type],
            ordered=True, in_place=True, finish=finish,
        )  # fmt: skip
        return copy

    return ir.Module(module.name, within(module.region))


def steps_of(f, *args, behind):
    """The steps of `f`'s plan with a call behind each Apply of `behind`."""
    f.__name__ = "f"
    module = pipeline.optimize(jax.jit(f).lower(*args).compiler_ir())
    chosen = set(applied(module.region, behind))
    plan = pipeline.plan(with_calls(module, chosen))
    verify_plan(plan)
    inputs = [np.asarray(x) for x in args]
    for got, want in zip(run_plan(plan, inputs), interpret.run(module, inputs), strict=True):
        assert not differs(got, want)
    return print_plan(plan).partition("kernel k0")[0].splitlines()[1:-1]


def applied(region, fns):
    for node in traversal.topological_order(traversal.roots(region)):
        if isinstance(node, ir.Apply) and node.fn in fns:
            yield node
        for _, inner in traversal.regions(node):
            yield from applied(inner, fns)


def test_work_is_done_before_the_wait():
    x, y = [np.linspace(0, 1, n, dtype=np.float32) for n in (6, 7)]
    assert steps_of(lambda x, y: (-x + 1, y * y), x, y, behind=("neg",)) == [
        "  launch k0(input0, arena0)",
        "  host_call copy(arena0) -> (arena64)",
        "  launch k1(input1, output1)",
        "  wait copy -> (arena64)",
        "  launch k2(arena64, output0)",
    ]


def test_a_call_that_is_needed_at_once_is_one_step():
    x = np.linspace(0, 1, 6, dtype=np.float32)
    assert steps_of(lambda x: -x + 1, x, behind=("neg",)) == [
        "  launch k0(input0, arena0)",
        "  host_call copy(arena0) -> (arena64)",
        "  launch k1(arena64, output0)",
    ]


def test_parts_that_do_not_need_the_result():
    def stencil(x):  # its first row is another's, as with halos
        return jnp.concatenate([-x[:1], x[:-1]]) + x

    lines = steps_of(stencil, np.ones((40, 50), np.float32), behind=("neg",))
    kinds = [line.split()[0] for line in lines]
    assert kinds == ["launch", "host_call", "launch", "wait", "launch"]


def test_large_gathers_wait_for_their_turn():
    """Weights of a layer are gathered when the layer before it is computed, not all at once."""

    def gather(b, x):
        whole = ir.TensorType((x.shape[0] * 4, x.shape[1]), x.dtype)

        def repeat(x, result):
            result[...] = np.tile(x, (4, 1))

        (found,) = b.host_call(
            "gather", begin, [x], [whole], ordered=True, in_place=True, finish=repeat
        )
        return found

    def plan_of(n):
        b = Builder()
        types = [ir.TensorType((8, n), F32), ir.TensorType((n // 4, n), F32)]
        x, w, v = [b.parameter(k, t) for k, t in enumerate([types[0], types[1], types[1]])]
        y = b.apply("tanh", b.dot(x, gather(b, w), ((1,), (0,)), ((), ())))
        y = b.apply("tanh", b.dot(y, gather(b, v), ((1,), (0,)), ((), ())))
        return pipeline.plan(ir.Module("f", ir.Region((x, w, v), (y,), tuple(b.ordered))))

    def kinds(plan):
        return [type(step).__name__ for step in plan.steps]

    rest = ["Gemm", "Launch"]
    assert kinds(plan_of(1024)) == ["HostCall", *rest, "HostCall", *rest]
    assert kinds(plan_of(64)) == ["HostCall", "HostCall", "Wait", *rest, "Wait", *rest]
    n = 1024
    inputs = [np.full((8, n), 1e-3, F32), *[np.full((n // 4, n), c, F32) for c in (0.5, 0.25)]]
    (found,) = run_plan(plan_of(n), inputs)
    np.testing.assert_allclose(found, np.tanh(n * 0.25 * np.tanh(n * 0.5e-3)), rtol=1e-5)


def test_in_loops_and_branches():
    def f(x, y, n):
        def even(c):
            return -c[0] + 1, c[1] * c[1]

        def body(i, c):
            return lax.cond(i % 2 == 0, even, lambda c: (c[0] * 2, c[1]), c)

        return lax.fori_loop(0, n, body, (x, y))

    x, y = [np.linspace(0, 1, n, dtype=np.float32) for n in (6, 7)]
    lines = [line.split() for line in steps_of(f, x, y, np.int32(5), behind=("neg",))]
    kinds = [words[0] for words in lines]
    start, end = kinds.index("host_call"), kinds.index("wait")
    assert "launch" in kinds[start:end]


@pytest.mark.parametrize("start", range(0, 120, 12))
def test_random_programs(start):
    waits = 0
    for seed in range(start, start + 12):
        c = Chooser(5000 + seed)
        module, inputs, inexact = program(c, 14)
        module = pipeline.optimize(module)
        nodes = [
            node
            for node in traversal.topological_order(traversal.roots(module.region))
            if not isinstance(node.type, tuple) and node.tensor_type.dtype.itemsize > 1
        ]
        chosen = {node for node in nodes if c.chance(30)}
        plan = pipeline.plan(with_calls(module, chosen))
        waits += any(isinstance(step, plans.Wait) for step in plan.steps)
        want = interpret.run(module, inputs)
        got = run_plan(plan, inputs)
        for g, w, loose in zip(got, want, inexact, strict=True):
            assert not differs(g, w, loose), seed
    assert waits > 3
