"""Values that kernels compute again rather than read from memory: which they are."""

import numpy as np
import pytest
from tests.compiler.plan.test_row_strips import CASES
from tests.compiler.running import run_plan

import jitney as jax
import jitney.numpy as jnp
from jitney import nn
from jitney.compiler import pipeline
from jitney.compiler.cost import COSTS
from jitney.compiler.fusion import group
from jitney.core.util.record import replace

AGAIN = replace(COSTS, recomputed_bytes=1, strip_bytes=1)
NEVER = replace(COSTS, recomputed_bytes=1 << 62)


def module_of(f, *args):
    return pipeline.optimize(jax.jit(f).lower(*args).compiler_ir())


def planned(module, costs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group, "COSTS", costs)
        return pipeline.plan(module)


def test_a_softmax_of_long_rows_computes_its_exponentials_twice():
    long = module_of(lambda x: nn.softmax(x), jnp.zeros((2, 1_000_000)))
    text = pipeline.as_text(long, "kernels")
    assert text.count("= exp ") == 3  # two kernels of sums, and one of results
    assert "arena 0" not in text and int(text.split("arena ")[1].split()[0]) < 10_000
    for short in (jnp.zeros((2, 100_000)), jnp.zeros((8192, 256))):
        text = pipeline.as_text(module_of(lambda x: nn.softmax(x), short), "kernels")
        assert text.count("= exp ") == 1


def test_what_costs_more_than_memory_is_stored():
    x = jnp.zeros((2, 1_000_000))
    costly = module_of(lambda x: nn.softmax(jnp.sin(jnp.tan(jnp.exp(x)))), x)
    assert pipeline.plan(costly).arena_bytes >= x.nbytes


def test_operands_of_which_more_has_to_be_read_are_not_read_again():
    def f(*xs):
        return nn.softmax(sum(xs))

    x = jnp.zeros((2, 1_000_000))
    assert pipeline.plan(module_of(f, x, x, x, x)).arena_bytes >= x.nbytes
    assert pipeline.plan(module_of(f, x)).arena_bytes < x.nbytes


@pytest.mark.parametrize("name", CASES)
def test_results_are_kept_but_for_the_order_of_sums(name):
    f, *inputs = CASES[name]
    with jax.enable_x64("float64" in name):
        module = module_of(f, *inputs)
        args = [np.asarray(x) for x in inputs]
        again, stored = (run_plan(planned(module, costs), args) for costs in (AGAIN, NEVER))
        for got, want in zip(again, stored, strict=True):
            tolerance = 4 * float(jnp.finfo(got.dtype).eps)
            np.testing.assert_allclose(
                got.astype("f8"), want.astype("f8"), rtol=tolerance, atol=50 * tolerance
            )
