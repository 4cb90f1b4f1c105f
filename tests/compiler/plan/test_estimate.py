"""What steps are estimated to cost: operations as textbooks count them."""

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.plan.estimate import operations
from jitney.scipy.linalg import lu_factor, solve_triangular


def counted(f, *shapes):
    """The operations of library calls and products of a program."""
    args = [jitney.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    module = jitney.jit(f).lower(*args).compiler_ir()
    steps = pipeline.run(module, last="assign_buffers").steps
    return max(map(operations, steps))


@pytest.mark.parametrize(
    ("f", "shapes", "expected"),
    [
        (lambda x, w: lax.conv(x, w, (1, 1), "SAME"), [(8, 32, 40, 40), (48, 32, 3, 3)],
         2 * 8 * 40 * 40 * 48 * 32 * 9),
        (lu_factor, [(300, 300)], 2 * 300**3 / 3),
        (jnp.linalg.cholesky, [(5, 200, 200)], 5 * 200**3 / 3),
        (lambda x: jnp.linalg.qr(x), [(200, 200)], 8 * 200**3 / 3),
        (lambda x: jnp.linalg.svd(x, compute_uv=False), [(300, 100)], 4 * 300 * 1e4 - 4e6 / 3),
        (solve_triangular, [(500, 500), (500,)], 500**2),
        (jnp.fft.fft, [(70, 1024)], 5 * 70 * 1024 * 10),
        (jnp.fft.rfft, [(70, 1024)], 2.5 * 70 * 1024 * 10),
        (jnp.fft.fft, [(64, 4001)], 5 * 64 * 4001 * math.log2(4001)),
        (lambda x, y: x @ y, [(700, 600), (600, 500)], 2 * 700 * 600 * 500),
    ],
)  # fmt: skip
def test_operations_are_those_of_textbooks(f, shapes, expected):
    assert counted(f, *shapes) == pytest.approx(expected, rel=1e-6)
