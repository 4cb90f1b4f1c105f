"""Derivatives with respect to sparse arrays have their indices."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.experimental.sparse.ad import (
    flatten_fun_for_sparse_ad,
    grad,
    jacfwd,
    jacrev,
    value_and_grad,
)
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.coo import COO

DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
V = np.array([1, 10, 100], np.float32)


def matrix(kind=BCOO):
    return kind.fromdense(jnp.asarray(DENSE))


def test_gradients_are_zero_where_nothing_is_stored():
    mat = matrix()
    derivative = grad(lambda m: jnp.sum((m @ V) ** 2))(mat)
    wanted = 2 * np.outer(DENSE @ V, V)
    assert derivative.indices is mat.indices or derivative.indices.tolist() == mat.indices.tolist()
    np.testing.assert_array_equal(derivative.todense(), np.where(DENSE != 0, wanted, 0))


def test_arguments_are_chosen_and_results_may_have_more():
    def f(v, m, scale=1):
        return jnp.sum(m @ v) * scale, "aux"

    (value, aux), (of_m, of_v) = value_and_grad(f, (1, 0), has_aux=True)(V, matrix(), scale=2)
    assert value == 2 * np.sum(DENSE @ V) and aux == "aux"
    assert of_v.tolist() == [6, 4, 8] and of_m.data.tolist() == [20, 2, 200]
    of_v, aux = grad(f, has_aux=True)(V, matrix())
    assert of_v.tolist() == [3, 2, 4] and aux == "aux"


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_jacobians_have_the_axes_of_results_as_batch_axes(jacobian):
    out = jacobian(lambda m: m @ V)(matrix())
    assert out.shape == (2, 2, 3) and out.n_batch == 1
    wanted = np.zeros((2, 2, 3))
    for i in range(2):
        wanted[i, i] = np.where(DENSE[i] != 0, V, 0)
    np.testing.assert_array_equal(out.todense(), wanted)
    rows, aux = jacobian(lambda m: (m.sum(), 5), has_aux=True)(matrix())
    assert rows.data.tolist() == [1, 1, 1] and aux == 5


def test_functions_are_expressed_by_their_data():
    fun, elements, restored = flatten_fun_for_sparse_ad(
        lambda x, tree: tree["m"].todense() * x, 1, (3.0, {"m": matrix(), "v": jnp.ones(1)})
    )
    np.testing.assert_array_equal(fun(*elements), 3 * DENSE)
    back = restored(elements)
    assert isinstance(back["m"], BCOO) and back["v"].tolist() == [1]


def test_what_has_no_sparse_derivative_is_refused():
    with pytest.raises(NotImplementedError, match="Jacobians of functions with sparse results"):
        jacrev(lambda m: m * 2)(matrix())
    with pytest.raises(NotImplementedError, match=r"with respect to COO .* use BCOO"):
        jacfwd(lambda m: m @ V)(matrix(COO))
    assert grad(lambda m: jnp.sum(m @ V))(matrix(COO)).data.tolist() == [10, 1, 100]
