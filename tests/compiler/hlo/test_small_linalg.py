"""Factorizations and solves of small matrices, written out as elementwise nodes."""

import numpy as np
import pytest
import scipy.linalg

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, small_linalg
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType

RNG = np.random.default_rng(0)


def computed(make, *values):
    b = Builder()
    xs = [b.parameter(i, TensorType(v.shape, v.dtype)) for i, v in enumerate(values)]
    made = make(b, *xs)
    if made is None:
        return None
    results = made if isinstance(made, list) else [made]
    with np.errstate(all="ignore"):
        return run_region(ir.Region(tuple(xs), tuple(results)), values)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_factors_of_cholesky_multiply_to_the_matrix(batch):
    a = RNG.normal(size=(*batch, 3, 3))
    a = a @ np.swapaxes(a, -1, -2) + np.eye(3)
    (low,) = computed(small_linalg.cholesky, a)
    np.testing.assert_allclose(low, np.linalg.cholesky(a), rtol=1e-13)


def test_matrices_that_are_not_positive_definite_give_nan():
    a = np.stack([np.diag([1.0, -1.0]), np.eye(2), np.zeros((2, 2))])
    (low,) = computed(small_linalg.cholesky, a)
    assert np.isnan(low[[0, 2]]).all()
    np.testing.assert_array_equal(low[1], np.eye(2))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (1, 1)])
def test_lu_has_the_pivots_of_lapack(shape):
    a = RNG.normal(size=shape)
    lu, pivots, order = computed(small_linalg.lu, a)
    expected, swaps = scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(lu, expected, rtol=1e-12)
    np.testing.assert_array_equal(pivots, swaps)
    lower = np.tril(lu[:, : min(shape)], -1) + np.eye(shape[0], min(shape))
    np.testing.assert_allclose(lower @ np.triu(lu[: min(shape)]), a[order], rtol=1e-12)


def test_columns_of_zeros_are_not_divided_by():
    lu, pivots, _ = computed(small_linalg.lu, np.float32([[0, 1], [0, 2]]))
    np.testing.assert_array_equal(lu, [[0, 1], [0, 2]])
    np.testing.assert_array_equal(pivots, [0, 1])


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("unit_diagonal", [True, False])
def test_triangular_systems_are_solved(left_side, lower, transpose_a, unit_diagonal):
    a = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
    right = RNG.normal(size=(3, 2) if left_side else (2, 3))
    options = {
        "left_side": left_side, "lower": lower, "transpose_a": transpose_a,
        "unit_diagonal": unit_diagonal,
    }  # fmt: skip
    (x,) = computed(lambda b, a, r: small_linalg.triangular_solve(b, a, r, **options), a, right)
    t = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        np.fill_diagonal(t, 1)
    t = t.T if transpose_a else t
    np.testing.assert_allclose(t @ x if left_side else x @ t, right, rtol=1e-12)


def test_large_matrices_and_other_dtypes_are_left_to_lapack():
    large = np.eye(COSTS.written_out_rows + 1)
    assert computed(small_linalg.cholesky, large) is computed(small_linalg.lu, large) is None
    assert computed(small_linalg.lu, np.eye(2, dtype=complex)) is None
    assert computed(small_linalg.lu, np.zeros((0, 2))) is None


def test_permutations_of_pivots():
    pivots = np.int32([[2, 3, 2], [0, 1, 9]])  # row 9 does not exist
    (found,) = computed(lambda b, x: small_linalg.permutation(b, x, 4), pivots)
    np.testing.assert_array_equal(found, [[2, 3, 0, 1], [0, 1, 2, 3]])
