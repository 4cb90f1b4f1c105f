"""LU, Cholesky and eigenvalues by code of our own: for all instructions, edges and neighbours."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import lapack
from jitney.runtime.native import _factorize

RNG = np.random.default_rng(1)
DTYPES = ["float32", "float64"]


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def instructions(request):
    """Each set of instructions that the processor has."""
    before = _factorize.limit_instructions(request.param)
    yield
    _factorize.limit_instructions(before)


def eps(dtype):
    return float(np.finfo(dtype).eps)


def random(*shape, dtype):
    return RNG.normal(size=shape).astype(dtype)


def wide(x):
    return np.asarray(x, np.float64)


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", [(1, 1), (7, 7), (16, 16), (17, 17), (40, 7), (9, 50), (130, 100)])
def test_lu(m, n, dtype):
    x = random(3, m, n, dtype=dtype)
    factors, pivots, order = lapack.run(lapack.routine("lu", m, n), [x])
    k = min(m, n)
    low = np.tril(wide(factors[..., :k]), -1) + np.eye(m, k)
    up = np.triu(wide(factors[..., :k, :]))
    assert np.abs(low).max() == 1  # the largest element of a column is the pivot
    rows = np.take_along_axis(wide(x), order[..., None].astype(np.int64), -2)
    bound = 4 * k * eps(dtype) * (np.abs(low) @ np.abs(up))  # Higham (2002), theorem 9.3
    assert np.all(np.abs(low @ up - rows) <= bound + 1e-300)
    for i in range(3):
        exchanged = np.arange(m)
        for a, b in enumerate(pivots[i]):
            exchanged[[a, b]] = exchanged[[b, a]]
        np.testing.assert_array_equal(exchanged, order[i])


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("n", [8, 20])
def test_lu_of_zeros_subnormal_numbers_and_nan(n):
    x = np.zeros((4, n, n), np.float32)
    x[1] = 1e-40 * (np.eye(n) + 1)  # a reciprocal overflows
    x[2] = np.eye(n) + 1
    x[2, 3, 4] = np.nan
    x[3] = np.eye(n)
    x[3, 5, 5] = np.inf
    factors, _, order = lapack.run(lapack.routine("lu", n, n), [x])
    assert not factors[0].any()
    np.testing.assert_array_equal(order[0], np.arange(n))
    low, up = np.tril(wide(factors[1]), -1) + np.eye(n), np.triu(wide(factors[1]))
    np.testing.assert_allclose(low @ up, wide(x[1])[order[1]], rtol=1e-4)
    assert np.isnan(factors[2]).any() and factors[2, 0, 0] == 2
    assert np.isinf(factors[3, 5, 5])
    np.testing.assert_array_equal(
        factors[3] == np.eye(n), np.arange(n * n).reshape(n, n) != 5 * n + 5
    )


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 16, 17, 50, 150])
def test_cholesky(n, dtype):
    q = np.linalg.qr(RNG.normal(size=(n, n)))[0]
    spread = np.geomspace(1, 30 * eps(dtype) * n if n > 1 else 1, n)  # hardly definite
    for x in (q @ (spread[:, None] * q.T), random(n, n + 5, dtype="float64")):
        x = (x @ x.T if x.shape != (n, n) else (x + x.T) / 2).astype(dtype)
        (low,) = lapack.run(lapack.routine("cholesky", n), [np.tril(x)])
        np.testing.assert_array_equal(low, np.tril(low))
        low = wide(low)
        bound = 4 * n * eps(dtype) * (np.abs(low) @ np.abs(low).T)  # Higham (2002), theorem 10.3
        assert np.all(np.abs(low @ low.T - wide(x)) <= bound)


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("place", [0, 15, 16, 39])
@pytest.mark.parametrize("value", [-1, 0])
def test_matrices_without_cholesky_factor(place, value):
    x = np.stack([np.eye(40, dtype=np.float32)] * 2)
    x[0, place, place] = value
    (low,) = lapack.run(lapack.routine("cholesky", 40), [x])
    assert np.isnan(low[0]).all()
    np.testing.assert_array_equal(low[1], x[1])


def symmetric(n, dtype):
    """Matrices that are easy, hard, or at the ends of the range of numbers."""
    a = RNG.normal(size=(6, n, n))
    a = a + np.swapaxes(a, -1, -2)
    q = np.linalg.qr(a[0])[0]
    repeated = q @ (np.sign(np.arange(n) - n // 2)[:, None] * q.T)
    wilkinson = np.diag(np.abs(np.arange(n) - n // 2).astype(float))
    wilkinson += np.eye(n, k=1) + np.eye(n, k=-1)
    graded = np.geomspace(1, 1e-12, n)
    some = [
        np.zeros((n, n)), np.eye(n), np.ones((n, n)), np.diag(np.arange(n) - 2.0), repeated, wilkinson,
        graded[:, None] * a[1] * graded, graded[::-1, None] * a[2] * graded[::-1],
    ]  # fmt: skip
    info = np.finfo(dtype)
    scales = [1, 1, 1, float(info.max) / 100, float(info.tiny), float(info.tiny) ** 0.5]
    return np.concatenate([some, a * np.array(scales)[:, None, None]]).astype(dtype)


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 16])
def test_eigh(n, dtype):
    x = symmetric(n, dtype)
    for lower in (False, True):
        part = (np.tril if lower else np.triu)(x)
        vectors, values = lapack.run(lapack.routine("eigh", n, lower, True), [part])
        assert np.all(np.diff(values) >= 0)
        v = wide(vectors)
        assert np.abs(np.swapaxes(v, -1, -2) @ v - np.eye(n)).max() <= 4 * n * eps(dtype)
        # In units of the largest element: the squares of some overflow, of others vanish.
        size = np.maximum(np.abs(wide(x)).max((-2, -1)), float(np.finfo(dtype).tiny))
        w, a = wide(values) / size[:, None], wide(x) / size[:, None, None]
        assert np.abs(a @ v - v * w[:, None, :]).max() <= 8 * n * eps(dtype)
        assert np.abs(w - np.linalg.eigvalsh(a)).max() <= 8 * n * eps(dtype)


def rectangular(m, n, dtype):
    """Matrices that are easy, hard, or at the ends of the range of numbers."""
    a = RNG.normal(size=(6, m, n))
    graded = np.geomspace(1, 1e-12, n)
    twice = a[3].copy()
    twice[:, -1] = twice[:, 0]
    some = [
        np.zeros((m, n)), np.eye(m, n), np.ones((m, n)), a[1] * graded, a[2] * graded[::-1], twice,
        np.outer(a[4][:, 0], a[5][0]), np.triu(np.ones((m, n))), -np.eye(m, n)[::-1],
    ]  # fmt: skip
    info = np.finfo(dtype)
    scales = [1, 1, 1, float(info.max) / 100, float(info.tiny), float(info.tiny) ** 0.5]
    return np.concatenate([some, a * np.array(scales)[:, None, None]]).astype(dtype)


def scaled(x, dtype):
    """In units of the largest element of each: the squares of some overflow, of others vanish."""
    return (
        wide(x)
        / np.maximum(np.abs(wide(x)).max((-2, -1)), float(np.finfo(dtype).tiny))[:, None, None]
    )


def is_orthogonal(q, dtype):
    return np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(q.shape[-1])).max() <= 60 * eps(dtype)


SMALL = [(1, 1), (3, 3), (16, 16), (5, 2), (2, 5), (16, 3), (1, 9), (9, 1)]


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", SMALL)
def test_qr(m, n, dtype):
    x = rectangular(m, n, dtype)
    size = np.maximum(np.abs(wide(x)).max((-2, -1)), float(np.finfo(dtype).tiny))[:, None, None]
    for width in {m, min(m, n)}:
        q, r = lapack.run(lapack.routine("qr", m, n, width), [x])
        np.testing.assert_array_equal(r, np.triu(r))
        assert is_orthogonal(wide(q), dtype)
        assert np.abs(wide(q) @ (wide(r) / size) - wide(x) / size).max() <= 8 * max(m, n) * eps(
            dtype
        )
    signs = np.sign(np.diagonal(r[-6:-3], axis1=-2, axis2=-1))  # of the first ones LAPACK's
    expected = np.linalg.qr(wide(x)[-6:-3])[1]
    np.testing.assert_array_equal(signs, np.sign(np.diagonal(expected, axis1=-2, axis2=-1)))


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr_of_columns_whose_rest_is_nearly_zero(dtype):
    """Only exact zeros are left where they are: any other number, however small, changes the sign."""
    least = np.finfo(dtype).smallest_subnormal
    x = np.stack([np.eye(3, dtype=dtype) * size for size in (1, 1, 1e30)])
    x[1:, 2, 0] = 2 * least
    q, r = lapack.run(lapack.routine("qr", 3, 3, 3), [x])
    np.testing.assert_array_equal(
        np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, :2], [[1, 1], [-1, 1], [-1, 1]]
    )
    np.testing.assert_allclose(
        wide(q) @ (wide(r) / x[:, :1, :1]), wide(x) / x[:, :1, :1], atol=eps(dtype)
    )


@pytest.mark.usefixtures("instructions")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", SMALL)
def test_svd(m, n, dtype):
    x = rectangular(m, n, dtype)
    k = min(m, n)
    size = np.maximum(np.abs(wide(x)).max((-2, -1)), float(np.finfo(dtype).tiny))
    exact = np.linalg.svd(scaled(x, dtype), compute_uv=False)
    for width, height in {(m, n), (k, k)}:
        s, u, vt = lapack.run(lapack.routine("svd", m, n, width, height, True), [x])
        assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
        assert np.abs(wide(s) / size[:, None] - exact).max() <= 8 * max(m, n) * eps(dtype)
        assert is_orthogonal(wide(u), dtype) and is_orthogonal(np.swapaxes(wide(vt), -1, -2), dtype)
        found = (wide(u)[..., :k] * (wide(s) / size[:, None])[:, None, :]) @ wide(vt)[:, :k]
        assert np.abs(found - scaled(x, dtype)).max() <= 8 * max(m, n) * eps(dtype)
    (alone,) = lapack.run(lapack.routine("svd", m, n, -1, -1, True), [x])
    np.testing.assert_array_equal(alone, s)


@pytest.mark.usefixtures("instructions")
def test_small_singular_values_have_their_digits():
    """Of columns of very different lengths, in whichever order (Demmel and Veselic)."""
    q = np.linalg.qr(RNG.normal(size=(8, 8)))[0]
    lengths = np.geomspace(1, 1e-60, 8)[RNG.permutation(8)]
    (s,) = lapack.run(lapack.routine("svd", 8, 8, -1, -1, True), [(q * lengths)[None]])
    np.testing.assert_allclose(s[0], np.sort(lengths)[::-1], rtol=1e-13)


@pytest.mark.usefixtures("instructions")
def test_factors_do_not_depend_on_neighbours():
    x = random(40, 6, 4, dtype="float32")
    x[7, 2, 1] = np.nan
    x[9, 3, 3] = np.inf
    for f in (jnp.linalg.qr, jnp.linalg.svd):
        among = jitney.jit(f)(x)
        for i in (0, 7, 8, 9, 39):
            for part, whole in zip(jitney.jit(f)(x[[i, i]]), among, strict=True):
                np.testing.assert_array_equal(part[0], whole[i])
        assert np.isnan(among[1][7]).any() and np.isnan(among[1][9]).any()
        assert np.isfinite(among[1][8]).all()


@pytest.mark.usefixtures("instructions")
def test_eigenvalues_do_not_depend_on_neighbours():
    x = random(40, 6, 6, dtype="float32")
    x[7, 2, 1] = np.nan
    x[9, 3, 3] = np.inf
    f = jitney.jit(lambda x: lax.linalg.eigh(x, symmetrize_input=False))
    vectors, values = f(x)
    for i in (0, 7, 8, 9, 39):
        for apart, among in zip(f(x[[i, i]]), (vectors[i], values[i]), strict=True):
            np.testing.assert_array_equal(apart[0], among)
            assert np.isnan(among).all() == (i in (7, 9))


def test_what_threads_divide():
    """Products of these sizes are divided, and so are batches."""
    x = random(300, 300, dtype="float32")
    square = x @ x.T + np.eye(300, dtype=np.float32)
    b = random(300, dtype="float32")
    found = wide(jitney.jit(jnp.linalg.solve)(square, b))
    size = np.abs(wide(square)) @ np.abs(found)
    assert np.all(np.abs(wide(square) @ found - b) <= 1e3 * eps("float32") * size)
    low = wide(jitney.jit(jnp.linalg.cholesky)(square))
    assert np.all(
        np.abs(low @ low.T - square) <= 1e3 * eps("float32") * (np.abs(low) @ np.abs(low).T)
    )
    many = random(2000, 5, 5, dtype="float32")
    values = jitney.jit(jnp.linalg.eigvalsh)(many)
    expected = np.linalg.eigvalsh(wide(many + np.swapaxes(many, 1, 2)) / 2)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)
