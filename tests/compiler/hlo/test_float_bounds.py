"""Bounds of floats, against the numbers that the operations make; and programs that rest on them."""

import itertools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import random
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.float_bounds import bounds
from jitney.compiler.hlo.ir import TensorType

_NUMBERS = itertools.count()
F32, U32 = np.dtype(np.float32), np.dtype(np.uint32)


def drawn(b, scale, shift):
    """scale * u + shift for numbers u in [1, 2) made of random bits, as nodes."""
    words = b.parameter(next(_NUMBERS), TensorType((4,), U32))
    shifted = b.apply("shift_right_logical", words, b.full((4,), 9, U32))
    ones = b.apply("or", shifted, b.full((4,), 0x3F800000, U32))
    u = b.bitcast(ones, F32)
    return b.apply("add", b.apply("mul", u, b.full((4,), scale, F32)), b.full((4,), shift, F32))


ENDS = np.float32([1, 2 - 2**-23])  # of the numbers that words make


@pytest.mark.parametrize("fn", ["add", "sub", "mul"])
@pytest.mark.parametrize(
    ("first", "second"), [*itertools.product([(1, -1), (1, -1.5), (2, 1), (1, -3)], repeat=2)]
)
def test_bounds_hold_at_the_ends_of_operands(fn, first, second):
    b = Builder()
    x, y = drawn(b, *first), drawn(b, *second)
    found = bounds(b.apply(fn, x, y), 20)
    of_x, of_y = (np.float32(scale) * ENDS + np.float32(shift) for scale, shift in (first, second))
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[fn]
    made = function(of_x[:, None], of_y[None, :])
    if found is not None:
        assert found.low <= made.min() and made.max() <= found.high
        assert not np.signbit(made[made == 0]).any()
    elif fn != "mul":
        assert min(of_x[0], of_y[0]) == 0 or not np.isfinite(made).all()


def test_products_of_numbers_of_either_sign_have_no_bounds():
    b = Builder()
    positive, mixed = drawn(b, 1.0, 0.0), drawn(b, 1.0, -1.5)
    assert bounds(b.apply("mul", positive, positive), 20) is not None
    for x, y in ((positive, mixed), (mixed, positive), (mixed, mixed)):
        assert bounds(b.apply("mul", x, y), 20) is None


def test_clipped_products_of_uniform_numbers():
    def f(a, b):
        x = random.uniform(a, (10_000,)) - 0.5
        return jnp.maximum(x * (random.uniform(b, (10_000,)) + 1), -0.6)

    keys = random.key(0), random.key(1)
    np.testing.assert_array_equal(jitney.jit(f)(*keys), f(*keys))
    assert jitney.jit(f)(*keys).min() == np.float32(-0.6)
