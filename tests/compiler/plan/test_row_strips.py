"""Launches strip by strip: which chains there are, and that results keep their bits.

Sums over rows apart, which are added up in another order."""

import numpy as np
import pytest
from tests.compiler.programs import Chooser, program
from tests.compiler.running import differs, run_plan

import jitney as jax
import jitney.numpy as jnp
from jitney import lax, nn
from jitney.compiler import pipeline
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import interpret
from jitney.compiler.plan import ir as plans, parts, row_strips
from jitney.compiler.plan.text import print_plan
from jitney.compiler.plan.verify import verify_plan
from jitney.core.util.record import replace

EAGER = replace(COSTS, strip_above=1, strip_buffer=1, strip_rows=2, strip_bytes=1 << 12)
NEVER = replace(COSTS, strip_buffer=1 << 62)
IN_ORDER = replace(EAGER, summed_rows=1 << 62)


def planned(module, costs):
    """The plan of an optimized program by other costs of strips."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_strips, "COSTS", costs)
        patch.setattr(parts, "COSTS", costs)
        plan = pipeline.plan(module)
    verify_plan(plan)
    return plan


def module_of(f, *args):
    f.__name__ = "f"
    return pipeline.optimize(jax.jit(f).lower(*args).compiler_ir())


def strips(plan):
    """All `RowStrips` of a plan."""
    found = []
    blocks = [plan.steps]
    while blocks:
        for step in blocks.pop():
            if isinstance(step, plans.RowStrips):
                found.append(step)
            blocks += plans.inner(step)
    return found


def steps_of(f, *args, costs=EAGER):
    text = print_plan(planned(module_of(f, *args), costs))
    return text[: text.index("kernel k0")].strip()


def normal(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def norm(x):
    centred = x - x.mean(1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5)


def layer_norm(x, scale, shift):
    return norm(x) * scale + shift


def cross_entropy(x, labels):
    return -(nn.log_softmax(x) * nn.one_hot(labels, x.shape[1])).sum(1).mean()


def test_a_softmax_is_one_pass():
    assert steps_of(lambda x: nn.softmax(x), normal(64, 33)) == (
        """\
program f(input0: float32[64,33]) -> (output0: float32[64,33]), arena 0 bytes {
  strips of 10 rows, 64 in all {
    launch k0(input0, strip0)
    launch k1(input0, strip0, strip64)
    launch k2(strip64, strip0)
    launch k3(strip64, strip0, output0)
  }
}"""
    )


def test_what_needs_other_rows_is_apart_and_what_the_chain_does_not_need_comes_first():
    def f(x, y):
        shares = nn.softmax(x + y.sum(0))
        return shares, shares.sum(0)

    assert steps_of(f, normal(61, 9), normal(61, 9)) == (
        """\
program f(input0: float32[61,9], input1: float32[61,9]) -> \
(output0: float32[61,9], output1: float32[9]), arena 64 bytes {
  launch k0(input1, arena0)
  strips of 35 rows, 61 in all {
    launch k1(input0, arena0, strip0)
    launch k2(input0, arena0, strip0, strip192)
    launch k3(strip192, strip0)
    launch k4(strip192, strip0, output0)
  }
  launch k5(output0, output1)  ; it needs other rows, too
}"""
    )


def test_what_one_launch_alone_touches_may_have_more_rows():
    def f(x):
        return nn.softmax(x), jnp.concatenate([x * 2, nn.softmax(x)])

    module = module_of(f, normal(64, 33))
    (step,) = strips(planned(module, EAGER))
    assert {x.buffers[-1].nbytes for x in step.launches} >= {64 * 33 * 4, 128 * 33 * 4}
    check(module, [normal(64, 33)], least=1)


def sums_and_shares(x, scale):
    y = norm(x) * scale
    return y, y.sum(0), (y * x).sum(0)


def test_rows_of_a_strip_are_added_up_in_it_and_the_sums_after_it():
    assert steps_of(sums_and_shares, normal(64, 9), normal(9)) == (
        """\
program f(input0: float32[64,9], input1: float32[9]) -> \
(output0: float32[64,9], output1: float32[9], output2: float32[9]), arena 384 bytes {
  strips of 2 rows, 4 in all {
    launch k0(input0, strip0)
    launch k1(input0, strip0, strip128)
    launch k2(strip128, strip0)
    launch k3(strip0, strip1280)
    launch k4(strip128, strip1280, input1, output0)
    launch k5(output0, input0, arena0, arena192)
  }
  launch k6(arena0, output1)
  launch k7(arena192, output2)
}"""
    )


@pytest.mark.parametrize("axes, divided", [((0, 2), True), ((0, 1, 2), False)])
def test_sums_to_two_numbers_are_divided_and_those_to_one_are_not(axes, divided):
    def f(x):
        shares = nn.softmax(x, (1, 2))
        return shares, shares.sum(axes)

    plan = planned(module_of(f, normal(64, 2, 9)), EAGER)
    (step,) = strips(plan)
    assert len(step.launches) == 4 + divided
    assert len(plan.steps) == 2


@pytest.mark.parametrize("shape", [(64, 9), (60, 12), (24, 3, 5)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_sums_over_rows_in_parts(shape, dtype):
    def f(x):
        y = x * x.max(-1, keepdims=True)
        return y, y.sum(0), y.max(0), (y * x).sum(0)

    x = jnp.asarray(np.rint(normal(*shape) * 8), dtype)
    module = module_of(f, x)
    plan = planned(module, EAGER)
    assert "other rows" not in print_plan(plan)
    for got, want in zip(run_plan(plan, [np.asarray(x)]), f(x), strict=True):
        np.testing.assert_array_equal(np.asarray(got, np.float64), np.asarray(want, np.float64))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x - x.max(),
        lambda x: (lambda y: y + y[::-1])(x - x.mean(1, keepdims=True)),
        lambda x: (lambda y: (y, y.T.sum(1)))(jnp.exp(x)),
        lambda x: jnp.tanh(x) + 1.0,
    ],
    ids=["a sum of all", "reversed", "columns", "one launch"],
)
def test_other_rows_are_not_read_in_a_strip(f):
    module = module_of(f, normal(33, 33))
    for step in strips(planned(module, EAGER)):
        assert len(step.launches) > 1
    check(module, [normal(33, 33)])


def test_large_arrays_alone_are_worth_it():
    softmax = nn.softmax
    (large,) = strips(planned(module_of(lambda x: softmax(x), jnp.zeros((4096, 1024))), COSTS))
    assert large.strip < large.rows and len(large.launches) == 4
    assert not strips(planned(module_of(lambda x: softmax(x), jnp.zeros((100, 100))), COSTS))
    assert not strips(planned(module_of(lambda x: softmax(x), jnp.zeros((32, 300_000))), COSTS))


def own_bytes(step):
    return max(b.index + b.nbytes for x in step.launches for b in x.buffers if b.place == "strip")


def test_the_stack_of_a_thread_bounds_what_a_strip_has_for_itself():
    module = module_of(lambda x: nn.softmax(x), normal(64, 33))
    (small,) = strips(planned(module, replace(EAGER, strip_stack=600)))
    (large,) = strips(planned(module, EAGER))
    assert small.strip < large.strip and own_bytes(small) <= 600 < own_bytes(large)
    (none,) = strips(planned(module, replace(EAGER, strip_stack=100)))
    assert none.strip == 1 and all(b.place != "strip" for x in none.launches for b in x.buffers)
    for step in (small, none):
        assert step.rows == 64 and len(step.launches) == 4


def check(module, inputs, least=0):
    """Fails unless strips and whole launches give the same bits."""
    mined, whole = planned(module, IN_ORDER), planned(module, NEVER)
    assert len(strips(mined)) >= least and not strips(whole)
    for got, want in zip(run_plan(mined, inputs), run_plan(whole, inputs), strict=True):
        assert got.tobytes() == want.tobytes()


LABELS = np.arange(41, dtype=np.int32) % 7
CASES = {
    "softmax": (lambda x: nn.softmax(x), normal(64, 33)),
    "softmax of a prime number of rows": (lambda x: nn.softmax(x), normal(41, 100)),
    "softmax of float64": (lambda x: nn.softmax(x), normal(40, 24, dtype=np.float64)),
    "softmax of bfloat16": (lambda x: nn.softmax(x), jnp.asarray(normal(40, 24), jnp.bfloat16)),
    "softmax of matrices": (lambda x: nn.softmax(x), normal(8, 20, 30)),
    "log_softmax": (lambda x: nn.log_softmax(x), normal(64, 50)),
    "logsumexp": (lambda x: nn.logsumexp(x, axis=1), normal(64, 50)),
    "standardize": (lambda x: nn.standardize(x), normal(64, 50)),
    "layer norm": (layer_norm, normal(64, 50), normal(50), normal(50)),
    "gradient of layer norm": (
        jax.grad(lambda *a: (layer_norm(*a) ** 2).sum(), (0, 1, 2)),
        normal(64, 50), normal(50), normal(50),
    ),
    "gradient of cross entropy": (jax.grad(cross_entropy), normal(41, 60), LABELS),
    "in a loop": (
        lambda x: lax.fori_loop(0, 3, lambda _, x: nn.softmax(x[::-1]) + x, x), normal(64, 33)
    ),
    "in a branch": (
        lambda x: lax.cond(x[0, 0] > 0, lambda x: nn.softmax(x), lambda x: norm(x), x),
        normal(64, 33),
    ),
    "infinities and NaN": (
        lambda x: (nn.softmax(x), norm(x)),
        np.where(np.arange(64)[:, None] % 3 == 1, np.inf, normal(64, 33)).astype(np.float32),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bits_are_kept(name):
    f, *inputs = CASES[name]
    with jax.enable_x64("float64" in name):
        check(module_of(f, *inputs), [np.asarray(x) for x in inputs], least=1)


def test_random_programs():
    found = 0
    for seed in range(60):
        module, inputs, inexact = program(Chooser(3000 + seed), 14)
        plan = planned(pipeline.optimize(module), EAGER)
        if not strips(plan):
            continue
        found += 1
        wants = interpret.run(module, inputs)
        for got, want, loose in zip(run_plan(plan, inputs), wants, inexact, strict=True):
            assert not differs(got, want, loose)
    assert found > 5
