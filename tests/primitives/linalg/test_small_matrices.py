"""Small matrices, written out: against LAPACK, real jax, and in loops."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.hlo import interpret, small_linalg
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.reference import linalg as reference

RNG = np.random.default_rng(0)
BATCHES = [(), (1,), (5,), (2, 3)]
BOUND = {"float32": 2e-5, "float64": 1e-13}


def random(*shape, dtype):
    return RNG.normal(size=shape).astype(dtype)


def definite(batch, n, dtype):
    a = random(*batch, n, n, dtype=dtype)
    return (a @ np.swapaxes(a, -1, -2) + np.eye(n)).astype(dtype)


def run(make, *arrays):
    """Results of the nodes that `make(b, *parameters)` builds."""
    b = Builder()
    parameters = [b.parameter(i, TensorType(x.shape, x.dtype)) for i, x in enumerate(arrays)]
    made = make(b, *parameters)
    made = made if isinstance(made, list) else [made]
    with np.errstate(all="ignore"):
        return interpret.run(b.module("f", parameters, made), arrays)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_cholesky(n, dtype):
    for batch in BATCHES:
        x = definite(batch, n, dtype)
        (low,) = run(small_linalg.cholesky, x)
        assert low.dtype == dtype
        np.testing.assert_allclose(
            low, np.linalg.cholesky(x), rtol=BOUND[dtype], atol=4 * BOUND[dtype]
        )


@pytest.mark.parametrize("n", [3, 6])
@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan])
def test_matrices_that_have_no_cholesky_factor(value, n):
    for place in ((0, 0), (1, 1), (2, 2), (1, 0)):
        x = definite((3,), n, "float32")
        x[1, *place] = value
        (low,) = run(small_linalg.cholesky, x)
        expected = reference.cholesky(x)
        np.testing.assert_allclose(low, expected, rtol=1e-5, atol=1e-5)
        assert np.isnan(low[1]).any() or place == (1, 0)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize(
    "shape",
    [
        (1, 1),
        (2, 2),
        (3, 3),
        (5, 5),
        (6, 6),
        (2, 4),
        (5, 3),
        (1, 6),
        (6, 1),
    ],
)
def test_lu(shape, dtype):
    for batch in BATCHES:
        x = random(*batch, *shape, dtype=dtype)
        found, expected = run(small_linalg.lu, x), reference.lu(x)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=0, atol=100 * BOUND[dtype])


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((3, 3)), np.ones((4, 4)), np.array([[0.0, 1], [1, 0]]), np.diag([1.0, 0, 2]),
        np.array([[0.0, 2, 1], [0, 0, 3], [0, 1, 1]]), np.array([[1.0, 2], [-1, 5]]),
        np.array([[np.inf, 1], [1, 1]]), np.ones((6, 6)), np.diag([1.0, 0, 0, 2, 0, 3]),
    ],
)  # fmt: skip
def test_lu_of_singular_matrices_and_equal_pivots(x):
    x = x.astype(np.float32)
    for a, b in zip(run(small_linalg.lu, x), reference.lu(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("left_side", [False, True])
def test_triangular_solve(left_side, lower, transpose_a, unit_diagonal, dtype):
    params = {
        "left_side": left_side, "lower": lower, "transpose_a": transpose_a,
        "unit_diagonal": unit_diagonal, "conjugate_a": False,
    }  # fmt: skip
    for n, columns in ((1, 1), (2, 3), (3, 1), (4, 4), (6, 2), (6, 8)):
        for batch in BATCHES:
            a = random(*batch, n, n, dtype=dtype) + 2 * n**0.5 * np.eye(n, dtype=dtype)
            shape = (n, columns) if left_side else (columns, n)
            right = random(*batch, *shape, dtype=dtype)
            (found,) = run(
                lambda b, x, y: small_linalg.triangular_solve(b, x, y, **params), a, right
            )
            expected = reference.triangular_solve(a, right, **params)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=100 * BOUND[dtype] * scale)


def test_larger_and_other_matrices_are_left_to_lapack():
    for shape, dtype in (((7, 7), "float32"), ((2, 2), "complex64"), ((1, 9, 9), "float32")):
        b = Builder()
        x = b.parameter(0, TensorType(shape, np.dtype(dtype)))
        assert small_linalg.cholesky(b, x) is None and small_linalg.lu(b, x) is None
        text = jitney.jit(jnp.linalg.cholesky).lower(np.zeros(shape, dtype)).as_text("hlo")
        assert "library_call" in text


FUNCTIONS = {
    "cholesky": lambda np, x: np.linalg.cholesky(x @ x.T + np.eye(len(x))),
    "inv": lambda np, x: np.linalg.inv(x),
    "solve": lambda np, x: np.linalg.solve(x, x[0]),
    "det": lambda np, x: np.linalg.det(x),
    "slogdet": lambda np, x: np.linalg.slogdet(x)[1],
}


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_derivatives_against_jax(name, n):
    function = FUNCTIONS[name]
    x = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    x += 2 * np.float32(n**0.5) * np.eye(n, dtype=np.float32)
    xs = np.stack([x, x.T, x + x.T])

    def transformed(j, wrap):
        def f(x):
            return function(j.numpy, x)

        return (
            wrap(f)(x), wrap(j.vmap(f))(xs), wrap(j.jacrev(f))(x), wrap(j.jacfwd(f))(x),
            wrap(j.vmap(j.jacrev(f)))(xs),
        )  # fmt: skip

    wanted = of_jax(lambda j: transformed(j, lambda f: f))
    for got, want in zip(transformed(jitney, jitney.jit), wanted, strict=True):
        scale = np.abs(want.array).max()
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4 * scale)


def kalman(np, lax, ys):
    """A filter of four states and two measurements."""
    f, h = np.eye(4) + 0.1 * np.eye(4, k=1), np.eye(2, 4)

    def step(state, y):
        x, p = state
        x, p = f @ x, f @ p @ f.T + 0.1 * np.eye(4)
        gain = np.linalg.solve(h @ p @ h.T + 0.5 * np.eye(2), h @ p).T
        x = x + gain @ (y - h @ x)
        return (x, p - gain @ h @ p), x

    return lax.scan(step, (np.zeros(4), np.eye(4)), ys)[1]


def test_a_filter_is_one_native_program():
    ys = np.random.default_rng(1).normal(size=(60, 2)).astype(np.float32)
    ours = jitney.jit(lambda ys: kalman(jnp, lax, ys))
    assert "_call " not in ours.lower(ys).as_text("kernels")
    expected, want = of_jax(
        lambda j: (
            j.jit(lambda ys: kalman(j.numpy, j.lax, ys))(ys),
            j.grad(lambda ys: j.numpy.sum(kalman(j.numpy, j.lax, ys) ** 2))(ys),
        )
    )
    np.testing.assert_allclose(ours(ys), expected, rtol=1e-3, atol=1e-4)
    slope = jitney.jit(jitney.grad(lambda ys: jnp.sum(kalman(jnp, lax, ys) ** 2)))(ys)
    np.testing.assert_allclose(slope, want, rtol=2e-3, atol=2e-3)
