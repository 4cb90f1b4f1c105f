"""Plans of paddings: what is filled, and the values."""

import numpy as np
import pytest

import jitney
from jitney.compiler.cost import COSTS

SIDE = 512  # 512 x 512 numbers of 8 bytes are above the threshold
PADDINGS = [
    ((1, 1), (1, 1)), ((0, 3), (2, 0)), ((5, 0), (0, 0)), ((-2, 4), (3, -1)), ((-1, -1), (-3, 0)),
    ((0, 0), (0, 0)), ((1, 2), (0, 9)),
]  # fmt: skip


def padded(x, widths, value):
    """The padding by NumPy; negative widths drop elements."""
    x = x[
        tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, x.shape, strict=True))
    ]
    return np.pad(x, [(max(a, 0), max(b, 0)) for a, b in widths], constant_values=value)


def program(widths, interior=0):
    config = [(*w, interior) for w in widths]
    return jitney.jit(lambda x, v: jitney.lax.pad(x * 2, v, config))


@pytest.mark.parametrize("widths", PADDINGS, ids=str)
@pytest.mark.parametrize("shape", [(SIDE, SIDE), (7, 9)], ids=["large", "small"])
def test_values(widths, shape):
    with jitney.enable_x64(True):
        x = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
        got = program(widths)(x, np.int64(-7))
        assert np.array_equal(got, padded(x * 2, widths, -7))


@pytest.mark.parametrize("rank", [1, 3])
def test_values_of_other_ranks(rank):
    shape, widths = (
        ((SIDE * SIDE,), [(3, 5)]) if rank == 1 else ((64, 8, 600), [(1, 0), (2, 1), (0, 4)])
    )
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(program(widths)(x, np.float32(0.5)), padded(x * 2, widths, 0.5))


def test_the_border_of_a_large_operand_is_filled_by_a_kernel_for_each_side():
    large, small = (600, 600), (8, 8)
    assert 600 * 600 * 4 >= COSTS.filled_border > 8 * 8 * 4

    def kernels(shape, widths, interior=0):
        lowered = program(widths, interior).lower(np.zeros(shape, np.float32), np.float32(1))
        return lowered.as_text("kernels").count("\nkernel ")

    assert kernels(large, [(1, 1), (1, 1)]) == kernels(small, [(1, 1), (1, 1)]) + 3
    assert kernels(large, [(0, 1), (0, 0)]) == kernels(small, [(0, 1), (0, 0)])
    assert kernels(large, [(0, 1), (0, 0)], interior=1) == kernels(
        small, [(0, 1), (0, 0)], interior=1
    )
