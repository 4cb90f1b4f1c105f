"""A reference is changed in place; arrays that were read from it stay."""

import copy

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.refs.elements import accumulate, write
from jitney.primitives.refs.indexer import indexer_of, whole
from jitney.primitives.refs.ref import Ref, TransformedRef
from jitney.primitives.refs.views import transposed

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def ref():
    return jitney.new_ref(jnp.asarray(X))


def test_writes_are_in_place_and_leave_arrays_alone(ref):
    array = jnp.asarray(X)
    ref = jitney.new_ref(array)
    before = ref.content()
    ref.change((indexer_of(0, (2, 3)),), np.float32([7, 8, 9]), write)
    row = ref.read((indexer_of(0, (2, 3)),))
    ref.change((indexer_of((0, 1), (2, 3)),), np.float32(0), write)
    np.testing.assert_array_equal(row, [7, 8, 9])
    np.testing.assert_array_equal(before, X)
    np.testing.assert_array_equal(array, X)
    np.testing.assert_array_equal(ref.content(), [[7, 0, 9], X[1]])


def test_additions_and_views(ref):
    ref.change((whole((2, 3)),), X, accumulate)
    turned = transposed(ref.content().aval, None)
    ref.change((turned, indexer_of(0, (3, 2))), np.float32([-1, -2]), write)
    np.testing.assert_array_equal(ref.content(), [[-1, 2, 4], [-2, 8, 10]])


def test_copies_are_independent(ref):
    for of in (copy.copy, copy.deepcopy):
        other = of(ref)
        other[0, 0] = 99.0
        assert ref[0, 0] == 0
    assert type(other) is Ref


def test_attributes_are_those_of_the_array(ref):
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3), np.float32, 2, 6, 2)
    assert repr(ref).startswith("Ref([[0., 1., 2.]")
    assert ref.block_until_ready() is ref


def test_tracers_of_references_are_references(ref):
    seen = []
    jitney.jit(lambda r, x: seen.append([isinstance(r, Ref), isinstance(x, Ref)]))(ref, 1.0)
    assert seen == [[True, False]]


def test_views_know_their_type(ref):
    view = ref.at[1].at[1:]
    assert type(view) is TransformedRef
    assert (view.shape, view.dtype, view.ndim, view.size) == ((2,), np.float32, 1, 2)
    leaves, tree = jitney.tree.flatten(view)
    assert leaves[0] is ref
    np.testing.assert_array_equal(jitney.tree.unflatten(tree, leaves)[...], [4, 5])
