"""`mgrid`, `ogrid`, `r_` and `c_` read slices as ranges, as NumPy's objects do."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.index_tricks import c_, mgrid, ogrid, r_

A, B = np.array([1, 2, 3]), np.array([[4, 5, 6]])
KEYS = [np.s_[1:4], np.s_[0:1:5j], np.s_[0:3, 1:7:2], np.s_[0:1:3j, 2:5, -1:1]]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_grids(key):
    np.testing.assert_allclose(mgrid[key], np.mgrid[key])
    if isinstance(key, tuple):
        for a, b in zip(ogrid[key], np.ogrid[key], strict=True):
            np.testing.assert_allclose(a, b)


def test_axes_of_a_grid_have_one_dtype():
    assert mgrid[0:2, 0:1:3j].dtype == np.float32
    assert {x.dtype for x in ogrid[0:2, 0:1:3j]} == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    "key",
    [np.s_[A, 7, 0:3], np.s_["-1", B, B], np.s_["0,2", A, A], np.s_["0,2,0", A, A],
     np.s_["1,3,1", A, A], np.s_[-1:1:6j, A]],
    ids=str,
)  # fmt: skip
def test_rows(key):
    np.testing.assert_allclose(r_[key], np.r_[key], rtol=1e-6)


def test_matrices_have_one_row_or_one_column():
    assert r_["r", A, 9].tolist() == [[1, 2, 3, 9]]
    assert r_["c", A].tolist() == [[1], [2], [3]]
    assert r_["r", B, B].shape == (2, 3)


@pytest.mark.parametrize("key", [np.s_[A, A], np.s_[B, 0, 1], np.s_["0", B, B]], ids=str)
def test_columns(key):
    expected = np.c_[key] if not isinstance(key[1], int) else [[4, 5, 6, 0, 1]]
    np.testing.assert_array_equal(c_[key], expected)


def test_directives():
    with pytest.raises(ValueError, match="up to three integers, such as '0,2,1', but it is '0,x'"):
        r_["0,x", A]
    with pytest.raises(ValueError, match="must be the first item, but 'r' comes later"):
        r_[A, "r"]
