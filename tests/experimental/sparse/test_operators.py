"""Operators and methods of sparse arrays compute what those of dense arrays do."""

import operator

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.experimental.sparse import operators
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR
from jitney.experimental.sparse.coo import COO

assert operators  # it sets the operators
DENSE = np.array([[0, 2, 0], [-3, 0, 4]], np.float32)
V = np.array([1, 10, 100], np.float32)


def matrix(kind=BCOO):
    return kind.fromdense(jnp.asarray(DENSE))


def whole(x):
    return np.asarray(x.todense() if isinstance(x, BCOO) else x)


@pytest.mark.parametrize(
    "f",
    [
        operator.neg,
        operator.pos,
        abs,
        lambda m: m + m,
        lambda m: m - DENSE,
        lambda m: DENSE[:, ::-1] - m,
        lambda m: 2 * m,
        lambda m: m / 4,
        lambda m: m**2,
        lambda m: m**1,
        lambda m: m[1],
        lambda m: m[:, 1:],
        lambda m: m.sum(1),
        lambda m: m.sum(),
        lambda m: m.reshape(3, 2),
        lambda m: m.reshape((6,)),
        lambda m: m.astype("int32"),
    ],
)
def test_results_are_those_of_the_dense_array(f):
    np.testing.assert_array_equal(whole(f(matrix())), f(DENSE))


@pytest.mark.parametrize("kind", [BCOO, BCSR])
def test_products_with_vectors_and_matrices_on_either_side(kind):
    mat = matrix(kind)
    np.testing.assert_array_equal(mat @ V, DENSE @ V)
    np.testing.assert_array_equal(mat @ np.diag(V), DENSE @ np.diag(V))
    if kind is BCOO:
        np.testing.assert_array_equal(V[:2] @ mat, V[:2] @ DENSE)
    with pytest.raises(TypeError):
        mat @ V[:2]


def test_rows_are_iterated_over():
    assert [whole(row).tolist() for row in matrix()] == DENSE.tolist()
    with pytest.raises(TypeError, match=r"BCOO of shape \(\) has no axis"):
        iter(BCOO.fromdense(jnp.float32(3)))


def test_powers_with_dense_results_are_refused():
    with pytest.raises(NotImplementedError, match="result would be dense"):
        matrix() ** 0


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda m: m + m, "__add__"),
        (lambda m: 2 * m, "__rmul__"),
        (operator.neg, "__neg__"),
        (lambda m: m[0], "__getitem__"),
        (lambda m: m.sum(), "sum"),
    ],
)
def test_formats_without_an_operation_name_one_that_has_it(f, name):
    with pytest.raises(NotImplementedError, match=f"COO does not support {name}; .* to BCOO"):
        f(matrix(COO))
