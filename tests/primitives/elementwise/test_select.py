"""Selections, clamped values and rounded ones, with the derivatives of what was selected."""

import numpy as np
import pytest

import jitney
from jitney.primitives.elementwise import select as selection
from jitney.primitives.elementwise.select import RoundingMethod, clamp, select, select_n

A, B, C = np.arange(9, dtype=np.float32).reshape(3, 3)


def test_cases_are_selected_by_index():
    np.testing.assert_array_equal(select_n(np.array([2, 0, 1], np.int32), A, B, C), [6, 1, 5])
    np.testing.assert_array_equal(select_n(True, A, B), B)
    np.testing.assert_array_equal(select(np.array([True, False, True]), A, B), [0, 4, 2])
    np.testing.assert_array_equal(select_n(np.zeros(3, bool), A), A)


def test_cotangents_go_to_the_case_that_was_selected():
    which = np.array([0, 1, 0], np.int32)
    da, db = jitney.vjp(lambda a, b: select_n(which, a, b), A, B)[1](C)
    np.testing.assert_array_equal(da, [6, 0, 8])
    np.testing.assert_array_equal(db, [0, 7, 0])


def test_batches_of_scalar_indices():
    got = jitney.vmap(lambda i: select_n(i, A, B))(np.array([1, 0], np.int32))
    np.testing.assert_array_equal(got, [B, A])
    got = jitney.vmap(select_n, in_axes=(0, 1, None))(
        np.array([1, 0], np.int32), A[:, None] + A[:2], B
    )
    np.testing.assert_array_equal(got, [B, A + 1])


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((np.float32(1), A, B), "must contain booleans or integers, but is float32"),
        ((True, A, B, C), "booleans choose between two cases, but there are 3"),
        ((0, A, B[:2]), r"must have the same shape, but have \[\(3,\), \(2,\)\]"),
        ((np.zeros(2, np.int32), A, B), r"`which` must be a scalar or have the shape of the cases"),
    ],
)
def test_selections_that_are_refused(arguments, match):
    with pytest.raises(TypeError, match=match):
        select_n(*arguments)


def test_the_upper_bound_wins():
    x = np.array([-2, 0.5, 3, np.nan], np.float32)
    np.testing.assert_array_equal(clamp(np.float32(0), x, np.float32(1)), [0, 0.5, 1, np.nan])
    np.testing.assert_array_equal(clamp(np.float32(2), x[:3], np.float32(-1)), [-1, -1, -1])
    with pytest.raises(TypeError, match=r"clamp: `min` must be a scalar or have the shape of `x`"):
        clamp(np.zeros(3, np.float32), x, np.float32(1))


def test_derivatives_of_clamped_values():
    x = np.array([-1, 0.5, 2], np.float32)
    bounds = np.zeros(3, np.float32), np.ones(3, np.float32)
    cts = jitney.vjp(clamp, bounds[0], x, bounds[1])[1](np.ones(3, np.float32))
    np.testing.assert_array_equal(cts, np.eye(3))
    got = jitney.vmap(clamp, in_axes=(0, None, None))(np.float32([0, 1]), x, np.float32(1))
    np.testing.assert_array_equal(got, [[0, 0.5, 1], [1, 1, 1]])


def test_halves_are_rounded_by_the_method():
    x = np.array([0.5, 1.5, -2.5, 2.4, 0.49999997, -0.0], np.float32)
    away = np.asarray(selection.round(x))
    np.testing.assert_array_equal(away, [1, 2, -3, 2, 0, 0])
    assert np.signbit(away[-1])
    np.testing.assert_array_equal(selection.round(x, RoundingMethod.TO_NEAREST_EVEN), np.rint(x))
