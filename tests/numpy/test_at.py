"""Updates at an index leave the array as it was; a repeated position counts as often as it occurs."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.at import IndexUpdateHelper, scatter_update
from jitney.primitives.indexing.scatter import scatter_add

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "divide": np.divide,
    "power": np.power,
}
INDICES = {
    "row": np.s_[1],
    "block": np.s_[:, 1:],
    "reversed": np.s_[::-1, ::-2],
    "repeated": np.array([0, 1, 0]),
    "mask": X % 2 == 0,
    "negative": np.s_[-1, -2],
}


def at(x):
    return IndexUpdateHelper(jitney.numpy.array(x))


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", UFUNCS)
def test_updates_are_those_of_ufuncs(name, index):
    index = INDICES[index]
    expected = X.copy()
    UFUNCS[name].at(expected, index, 2)
    np.testing.assert_allclose(getattr(at(X)[index], name)(2.0), expected)
    if name in ("subtract", "power"):  # the same by a program, which scatters
        program = jitney.jit(lambda x: getattr(x.at[index], name)(2.0))
        np.testing.assert_allclose(program(X), expected)


def test_the_array_stays_as_it_was():
    x = jitney.numpy.array(X)
    IndexUpdateHelper(x)[0].set(9)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(at(X)[..., 1].set(np.array([7, 8]))[:, 1], [7, 8])


def test_functions_are_applied_once_for_each_occurrence():
    found = at(X[0])[np.array([0, 2, 2])].apply(lambda x: x * 10)
    assert found.tolist() == [10, 2, 300]


def test_positions_out_of_range():
    x, index = X[0], np.array([1, 7, -9])
    assert at(x)[index].add(1.0).tolist() == [1, 3, 3]  # dropped
    assert at(x)[index].add(1.0, mode="clip").tolist() == [2, 3, 4]
    assert at(x)[index].get().tolist() == [2, 3, 1]
    assert at(x)[index].get(mode="fill", fill_value=-1).tolist() == [2, -1, -1]
    # Without wrapping, -1 is out of range, too.
    last = at(x)[np.array([-1])]
    assert last.set(0.0).tolist() == [1, 2, 0]
    assert last.set(0.0, wrap_negative_indices=False).tolist() == [1, 2, 3]


def test_results_have_the_dtype_of_the_array():
    assert at(np.array([1, 2], np.int8))[0].add(np.int8(3)).tolist() == [4, 2]
    with pytest.warns(FutureWarning, match="float32 cannot be cast without loss to int8"):
        assert at(np.array([1, 2], np.int8))[0].set(np.float32(2.7)).dtype == np.int8


def test_values_broadcast_to_the_indexed_shape():
    np.testing.assert_array_equal(scatter_update(X, np.s_[:, 1:], 1.0, scatter_add)[0], [1, 3, 4])
    with pytest.raises(ValueError, match="with fewer axes"):
        at(X)[0].set(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match="broadcast"):
        at(X)[0].set(np.zeros(2, np.float32))
