"""Symbolic zeros are neutral in sums, and become arrays of zeros on demand."""

import numpy as np
import pytest

from jitney.core.pytree.pytrees import tree_flatten, tree_unflatten
from jitney.core.types.avals import shaped_array
from jitney.core.types.dtypes import float0
from jitney.transforms.zero import SymbolicZero, Zero, add_tangents, instantiate, with_zeros

F32 = shaped_array((2,), np.dtype(np.float32))
X = np.array([1, 2], np.float32)


def test_zeros_are_neutral():
    zero = Zero(F32)
    assert add_tangents(zero, X) is X
    assert add_tangents(X, zero) is X
    assert isinstance(add_tangents(zero, zero), Zero)
    np.testing.assert_array_equal(add_tangents(X, X), 2 * X)


def test_zeros_become_arrays():
    zeros = instantiate(Zero(F32))
    assert zeros.dtype == np.float32
    np.testing.assert_array_equal(zeros, [0, 0])
    assert instantiate(X) is X


@pytest.mark.parametrize(
    "value, dtype",
    [(X, np.dtype(np.float32)), (np.arange(2), float0), (1j, np.dtype(np.complex64))],
)
def test_zero_tangents_have_the_type_of_tangents(value, dtype):
    assert Zero.from_primal_value(value).aval.dtype == dtype


def test_values_take_their_places_among_zeros():
    values = iter([1, 2, 3])
    found = with_zeros(values, [False, True, False, True], [F32] * 4)
    assert [x if isinstance(x, int) else type(x) for x in found] == [Zero, 1, Zero, 2]
    assert next(values) == 3
    with pytest.raises(ValueError, match="zip"):
        with_zeros([1], [True], [F32, F32])


def test_zeros_are_trees_without_leaves():
    leaves, structure = tree_flatten([Zero(F32), 1])
    assert leaves == [1]
    rebuilt = tree_unflatten(structure, leaves)
    assert rebuilt[0].aval is F32


def test_zeros_of_users_have_a_shape():
    zero = SymbolicZero(F32)
    assert (zero.shape, zero.ndim, zero.dtype) == ((2,), 1, np.float32)
    assert repr(zero) == repr(Zero(F32))
