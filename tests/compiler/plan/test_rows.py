"""Which parts of buffers a part of a launch's outermost loop touches."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.plan import ir
from jitney.compiler.plan.rows import Rows, rows_of

X = np.ones((8, 64), np.float32)


def launches(f, *args) -> list[ir.Launch]:
    f.__name__ = "f"
    plan = pipeline.plan(pipeline.optimize(jax.jit(f).lower(*args).compiler_ir()))
    return [step for step in plan.steps if isinstance(step, ir.Launch)]


@pytest.fixture
def scaled() -> Rows:
    """Rows of `x.sum(1, keepdims=True) * v`: each row of the result needs all of `v`."""
    (launch,) = launches(lambda x, v: x.sum(1, keepdims=True) * v, X, X[0])[-1:]
    rows = rows_of(launch)
    assert rows is not None
    return rows


def test_results_are_written_by_row(scaled):
    (out,) = scaled.written
    assert scaled.extent == 8
    assert all(scaled.is_by_row(out, rows) for rows in (1, 2, 4, 8))
    assert not scaled.is_by_row(out, 8, nbytes=out.nbytes - 4)  # rows of no whole size


def test_a_vector_that_all_rows_read_is_not_by_row(scaled):
    vectors = [x for x in scaled.read if x.nbytes == X[0].nbytes]
    assert vectors
    assert not any(scaled.is_by_row(x, 8) for x in vectors)


def test_a_buffer_that_is_not_touched_is_not_by_row(scaled):
    (other,) = launches(lambda x: jnp.sin(x), X)
    assert not any(scaled.is_by_row(buffer, 8) for buffer in other.buffers)
