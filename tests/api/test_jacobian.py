"""Jacobians have the axes of the result, then those of the argument, in both modes alike."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.api.autodiff.jacobian import divided, hessian, jacfwd, jacrev, standard_basis

A = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def test_the_standard_basis_is_an_identity_split_among_leaves():
    tree = {"a": np.zeros((2, 1), np.float32), "b": 1.0, "c": np.zeros((0, 3), np.float32)}
    basis = standard_basis(tree, of_tangents=True)
    assert basis["c"].shape == (3, 0, 3) and basis["b"].weak_type
    rows = np.concatenate([np.reshape(basis[name], (3, -1)) for name in "abc"], axis=1)
    np.testing.assert_array_equal(rows, np.eye(3))


@pytest.mark.parametrize("axis", [0, -1])
def test_matrices_are_divided_into_blocks_of_the_shapes_of_leaves(axis):
    matrix = jnp.arange(10).reshape(5, 2) if axis == 0 else jnp.arange(10).reshape(2, 5)
    a, b = divided((np.zeros((2, 2)), np.zeros(())), axis, matrix)
    assert (a.shape, b.shape) == ((2, 2, 2), (2,))
    whole = np.asarray(matrix)
    expected = whole[:4].reshape(2, 2, 2) if axis == 0 else whole[:, :4].reshape(2, 2, 2)
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, whole[4] if axis == 0 else whole[:, 4])


@pytest.mark.parametrize("jac", [jacfwd, jacrev])
def test_jacobians_of_linear_and_bilinear_functions(jac):
    x, y = np.array([1.0, 2.0, 3.0], np.float32), np.array([5.0, 7.0], np.float32)
    np.testing.assert_array_equal(jac(lambda x: A @ x)(x), A)
    by_x, by_y = jac(lambda x, y: y * (A @ x), argnums=(0, 1))(x, y)
    np.testing.assert_array_equal(by_x, y[:, None] * A)
    np.testing.assert_array_equal(by_y, np.diag(A @ x))


@pytest.mark.parametrize("jac", [jacfwd, jacrev])
def test_trees_and_auxiliary_data(jac):
    def f(p):
        return {"out": p["x"] * p["y"]}, "aux"

    jacobian, aux = jac(f, has_aux=True)({"x": np.float32([1, 2]), "y": 3.0})
    assert aux == "aux"
    np.testing.assert_array_equal(jacobian["out"]["x"], 3 * np.eye(2))
    np.testing.assert_array_equal(jacobian["out"]["y"], [1, 2])


def test_hessians_of_quadratic_forms():
    B = np.float32([[2, 1], [0, 3]])
    h = hessian(lambda x: x @ B @ x)(np.float32([1, -1]))
    np.testing.assert_array_equal(h, B + B.T)


def test_dtypes_that_have_no_derivative():
    with pytest.raises(TypeError, match=r"jacfwd.*: .* argument x is of int"):
        jacfwd(lambda x: x)(np.arange(3))
    with pytest.raises(TypeError, match="holomorphic=True"):
        jacfwd(lambda x: x, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match=r"jacrev.*: the output must be of a real floating-point"):
        jacrev(lambda x: x.astype(int))(np.ones(2, np.float32))
