"""Operands of special functions, evaluation of polynomials, and what guards branches."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.scipy.special.support import (
    full_precision,
    guarded,
    half_line,
    horner,
    in_float32,
    is_pole_of_gamma,
    is_whole,
    machine_epsilon,
    ratio,
    real_operands,
    segment,
    strong,
)  # fmt: skip

X = jnp.array([-2.0, 0.0, 0.5, 3.0])


def test_polynomials_are_given_by_their_lowest_power_first():
    np.testing.assert_allclose(horner(X, (1, -2, 3)), np.polyval([3, -2, 1], X))
    np.testing.assert_allclose(horner(X, (1, 2)), 2 * X + 1)
    np.testing.assert_allclose(ratio(X, (1, 2), (3, 0, 1)), (2 * X + 1) / (X**2 + 3), rtol=1e-6)


def test_segments_end_at_minus_one_and_one():
    found = segment(jnp.array([1.0, 2.0, 4.0, 7.0, 9.0]), 2, 7, (0.0, 1.0))
    np.testing.assert_allclose(found, [-1, -1, -0.2, 1, 1], rtol=1e-6)


def test_half_lines_reach_one_at_infinity():
    found = half_line(jnp.array([2.0, 5.0, np.inf]), 2, 3, (0.0, 1.0))
    np.testing.assert_allclose(found, [-1, 0, 1])


def test_halves_are_computed_in_single_precision():
    seen = []

    @in_float32
    def both(x, y):
        seen.append(x.dtype)
        return x + y, x * y

    for dtype in ("float16", "bfloat16", "float32"):
        x = jnp.array([300.0], dtype)
        assert [y.dtype for y in both(x, x)] == [dtype, dtype]
    assert seen == ["float32"] * 3


def test_poles_and_whole_numbers():
    x = jnp.array([-2.0, -1.5, -0.0, 1.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(is_whole(x)[:4], [True, False, True, True])
    np.testing.assert_array_equal(is_pole_of_gamma(x)[:4], [True, False, True, False])
    assert not is_whole(x)[-1] and not is_pole_of_gamma(x)[-1]


def test_operands():
    assert [x.dtype for x in real_operands("f", 1, np.float16(2))] == ["float16"] * 2
    assert not real_operands("f", 1)[0].weak_type and not strong(1.5).weak_type
    with pytest.raises(ValueError, match="f: operands must be real, but they promote to complex64"):
        real_operands("f", 1.0, 1j)
    with pytest.raises(TypeError, match="f: `x` must be float32 or float64, but it is float16"):
        full_precision("f", np.float16(1))


def test_guards_and_precision():
    np.testing.assert_array_equal(guarded(X > 0, X, 7.0), [7, 7, 0.5, 3])
    assert machine_epsilon(X) == 2.0**-23
    with jitney.enable_x64(True):
        assert machine_epsilon(jnp.ones(1)) == 2.0**-52
