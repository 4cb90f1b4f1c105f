"""Which kernels are divided among threads, and loops whose lanes are two."""

import numpy as np
import pytest
from tests.compiler.running import code_for

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.codegen import driver
from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir
from jitney.core.util.record import replace


def kernel_of(f, *args):
    """The one kernel of a program."""
    f.__name__ = "f"
    plan = pipeline.plan(pipeline.optimize(jax.jit(f).lower(*args).compiler_ir()))
    (launch,) = [step for step in plan.steps if isinstance(step, ir.Launch)]
    return launch.kernel


def columns_reversed(x):
    """Rows are the outermost axis, also where there are few."""
    return jnp.sin(x[:, ::-1])


def test_kernels_are_divided_from_two_rows_on():
    kernel = kernel_of(columns_reversed, np.ones((2, 1 << 18), np.float32))
    assert driver.outer_extent(kernel) == 2
    assert driver.division(kernel) == "parallel_for"


@pytest.mark.parametrize("more, divided", [(0, "parallel_for"), (1, None)])
def test_kernels_are_divided_from_a_least_amount_of_work(more, divided, monkeypatch):
    kernel = kernel_of(columns_reversed, np.ones((4, 100), np.float32))
    work = driver.body_cost(kernel) * kernel.points
    monkeypatch.setattr(driver, "COSTS", replace(COSTS, parallel_above=work + more))
    assert driver.division(kernel) == divided


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loops_of_all_lanes_go_on_while_one_does(dtype):
    """In vectors of 128 bits there are two lanes of float64, four of float32."""

    def steps(x):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (s[0] / 2, s[1] + 1), (x, x.size))[1]

    with code_for("narrow"), jax.enable_x64(True):
        x = np.tile(np.array([1, 2, 64, 3, 0, 1e9, 5], dtype), 100)
        got = jax.jit(jax.vmap(steps))(x)
    np.testing.assert_array_equal(got, 1 + np.ceil(np.log2(np.maximum(x, 1))))
