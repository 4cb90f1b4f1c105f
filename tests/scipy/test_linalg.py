"""`jax.scipy.linalg`: properties of factorizations, values against SciPy, derivatives, errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney.scipy import linalg

DTYPES = [np.float64, np.complex128, np.float32]
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def matrix(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def positive(n: int, dtype: Any, *batch: int) -> np.ndarray:
    x = matrix(*batch, n, 2 * n, dtype=dtype)
    return x @ x.conj().swapaxes(-1, -2)


def close(found: Any, exact: Any, tolerance: float = 1e-10) -> None:
    found, exact = np.asarray(found), np.asarray(exact)
    if found.dtype in (np.float32, np.complex64):
        tolerance = max(tolerance, 2e-3)
    scale = max(1.0, float(np.abs(exact).max(initial=0)))
    np.testing.assert_allclose(found, exact, rtol=tolerance, atol=tolerance * scale)


@pytest.fixture(autouse=True)
def double():
    with jitney.enable_x64(True):
        yield


def adjoint(x: Any) -> np.ndarray:
    return np.asarray(x).conj().swapaxes(-1, -2)


@dtypes
@pytest.mark.parametrize("lower", [False, True])
def test_cholesky(dtype: Any, lower: bool):
    a, b = positive(4, dtype, 3), matrix(3, 4, 2, dtype=dtype, seed=1)
    factor = np.asarray(linalg.cholesky(a, lower=lower))
    close(factor @ adjoint(factor) if lower else adjoint(factor) @ factor, a)
    for right in (b, b[..., 0, :1].repeat(4, -1)[0]):
        x = linalg.cho_solve(linalg.cho_factor(a, lower), right)
        close(a @ np.asarray(x) if right.ndim > 1 else np.einsum("kij,kj->ki", a, x),
              right if right.ndim > 1 else np.broadcast_to(right, (3, 4)), 1e-8)  # fmt: skip
    close(linalg.solve(a[0], b[0], assume_a="pos", lower=lower), np.linalg.solve(a[0], b[0]), 1e-8)


@pytest.mark.parametrize("rest", [1e3, np.nan, np.inf])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [3, 20])
def test_cholesky_reads_one_triangle(n: int, lower: bool, rest: float):
    for dtype in (np.float32, np.complex128):
        a = positive(n, dtype)
        mine, other = (np.tril_indices(n, -1), np.triu_indices(n, 1))[:: 1 if lower else -1]
        half = a.copy()
        half[other] = rest
        exact = scipy.linalg.cholesky(half, lower, check_finite=False)
        with jitney.enable_x64(True):
            for f in (linalg.cholesky, jitney.jit(linalg.cholesky, static_argnames="lower")):
                close(f(half, lower=lower), exact)
            close(linalg.cholesky(half[None], lower=lower)[0], exact)
            close(linalg.cho_factor(half, lower=lower)[0], exact)
            half[mine] = np.nan
            assert np.isnan(linalg.cholesky(half, lower=lower)).any()


@dtypes
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 4)])
def test_lu_and_qr(dtype: Any, shape: tuple[int, ...]):
    a = matrix(*shape, dtype=dtype)
    p, lower, upper = map(np.asarray, linalg.lu(a))
    close(p @ lower @ upper, a)
    assert p.dtype == np.zeros(0, dtype).real.dtype
    permuted, upper = map(np.asarray, linalg.lu(a, permute_l=True))
    close(permuted @ upper, a)
    for mode in ("full", "economic"):
        q, r = map(np.asarray, linalg.qr(a, mode=mode))
        close(q @ r, a)
        close(
            adjoint(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1]), (*a.shape[:-2], *[q.shape[-1]] * 2)),
        )
    (r,) = linalg.qr(a, mode="r")
    close(np.abs(r), np.abs(linalg.qr(a)[1]))
    q, r, order = map(np.asarray, linalg.qr(a, pivoting=True))
    close(q @ r, np.take_along_axis(a, order[..., None, :].astype(int), -1))


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_triangular_and_lu_systems(trans: int):
    a, b = matrix(3, 4, 4, dtype=np.complex128), matrix(3, 4, 2, dtype=np.complex128, seed=1)
    op = [lambda x: x, lambda x: x.swapaxes(-1, -2), adjoint][trans]
    close(op(a) @ np.asarray(linalg.lu_solve(linalg.lu_factor(a), b, trans=trans)), b)
    close(
        op(a[0]) @ np.asarray(linalg.lu_solve(linalg.lu_factor(a[0]), b[0, :, 0], trans=trans)),
        b[0, :, 0],
    )
    for lower in (False, True):
        t = np.tril(a) if lower else np.triu(a)
        close(op(t) @ np.asarray(linalg.solve_triangular(a, b, trans=trans, lower=lower)), b, 1e-7)
        v = b[0, :, 0]
        x = np.asarray(linalg.solve_triangular(a[0], v, trans=trans, lower=lower))
        close(op(t[0]) @ x, v, 1e-7)


@pytest.mark.parametrize("mode", ["right", "left"])
@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("conjugate", [False, True])
def test_qr_multiply(mode: str, pivoting: bool, conjugate: bool):
    a = matrix(5, 3, dtype=np.complex128)
    c = (
        matrix(2, 5, dtype=np.complex128, seed=1)
        if mode == "right"
        else matrix(3, 2, dtype=np.complex128)
    )
    ours = linalg.qr_multiply(a, c, mode, pivoting, conjugate)
    theirs = scipy.linalg.qr_multiply(a, c, mode, pivoting, conjugate)
    for x, y in zip(ours[1:], theirs[1:], strict=True):
        close(x, y)
    close(ours[0], theirs[0])


@dtypes
def test_schur_forms(dtype: Any):
    a = matrix(5, 5, dtype=dtype)
    for output in ("real", "complex"):
        t, z = map(np.asarray, linalg.schur(a, output=output))
        close(z @ t @ adjoint(z), a)
        assert t.dtype.kind == ("c" if output == "complex" or a.dtype.kind == "c" else "f")
    t, z = linalg.rsf2csf(*linalg.schur(a))
    close(np.asarray(z) @ np.asarray(t) @ adjoint(z), a)
    close(np.tril(t, -1), np.zeros((5, 5)))
    batched = linalg.rsf2csf(*linalg.schur(np.stack([a, a.T])))
    close(np.asarray(batched[1]) @ np.asarray(batched[0]) @ adjoint(batched[1]), np.stack([a, a.T]))


@dtypes
def test_complex_schur_form_of_blocks_of_any_kind(dtype: Any):
    """Eigenvalues of a block come in SciPy's order, whether they are a conjugate pair or not."""
    t = np.triu(matrix(5, 5, dtype=dtype), -1)
    t[2, 1] = t[4, 3] = 0
    for x, expected in zip(
        linalg.rsf2csf(t, np.eye(5)), scipy.linalg.rsf2csf(t, np.eye(5)), strict=True
    ):
        close(x, expected)


@dtypes
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_hessenberg(dtype: Any, n: int):
    a = matrix(2, n, n, dtype=dtype)
    h, q = map(np.asarray, linalg.hessenberg(a, calc_q=True))
    close(q @ h @ adjoint(q), a)
    close(np.tril(h, -2), np.zeros_like(h))
    close(linalg.hessenberg(a), h)


@pytest.mark.parametrize("calc_q", [False, True])
@pytest.mark.parametrize("shape", [(3, 0), (2, 3, 0), (0, 0)])
def test_hessenberg_of_no_columns(shape: tuple[int, ...], calc_q: bool):
    x = np.zeros(shape, np.float32)

    def shapes(j: Any) -> list[Any]:
        return [y.shape for y in j.tree.leaves(j.scipy.linalg.hessenberg(x, calc_q=calc_q))]

    assert shapes(jitney) == of_jax(shapes)


@dtypes
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 3)])
def test_polar(dtype: Any, side: str, shape: tuple[int, ...]):
    a = matrix(*shape, dtype=dtype)
    for method in ("qdwh", "svd"):
        u, p = map(np.asarray, linalg.polar(a, side, method=method))
        close(u @ p if side == "right" else p @ u, a)
        close(p, adjoint(p))
        assert np.linalg.eigvalsh(p).min() > -1e-4
    with pytest.raises(NotImplementedError, match="float16"):
        linalg.polar(jnp.ones((2, 2), np.float16))


@dtypes
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 1.0, 3.0, 30.0])
def test_expm(dtype: Any, scale: float):
    a = (scale * matrix(2, 4, 4, dtype=dtype)).astype(dtype)
    exact = scipy.linalg.expm(a.astype(np.complex128))
    close(linalg.expm(a), exact, 1e-8)
    close(jitney.jit(linalg.expm)(a), exact, 1e-8)
    triangle = np.triu(a)
    exact = scipy.linalg.expm(triangle.astype(np.complex128))
    close(linalg.expm(triangle, upper_triangular=True), exact, 1e-8)


def test_derivatives_of_expm():
    a, e = matrix(4, 4), matrix(4, 4, seed=1)
    exact = scipy.linalg.expm_frechet(a, e)
    for x, y in zip(linalg.expm_frechet(a, e), exact, strict=True):
        close(x, y, 1e-11)
    close(linalg.expm_frechet(a, e, compute_expm=False), exact[1], 1e-11)
    # <E, transposed derivative of W> = <derivative of E, W>
    w = matrix(4, 4, seed=2)
    pulled = jitney.vjp(linalg.expm, jnp.asarray(a))[1](jnp.asarray(w))[0]
    np.testing.assert_allclose(np.vdot(pulled, e), np.vdot(exact[1], w), rtol=1e-11)
    assert np.isnan(np.asarray(linalg.expm(1e3 * a, max_squarings=3))).all()
    assert np.isfinite(
        np.asarray(jitney.grad(lambda a: linalg.expm(a).sum())(jnp.zeros((2, 2))))
    ).all()


@dtypes
def test_sqrtm(dtype: Any):
    a = matrix(5, 5, dtype=dtype)
    root = np.asarray(linalg.sqrtm(a))
    assert root.dtype.kind == "c"
    close(root @ root, a, 1e-9)
    assert (np.linalg.eigvals(root).real > -1e-5).all()
    close(linalg.sqrtm(np.diag([0.0, 0.0, 1.0]).astype(dtype)), np.diag([0.0, 0.0, 1.0]))
    with pytest.raises(NotImplementedError, match="blocksize"):
        linalg.sqrtm(a, blocksize=2)


def test_funm():
    a = matrix(5, 5)
    close(linalg.funm(a, jnp.exp), scipy.linalg.expm(a), 1e-9)
    value, error = linalg.funm(a, jnp.exp, disp=False)
    close(value, scipy.linalg.expm(a), 1e-9)
    assert 0 < float(error) < 1e-8
    close(jitney.jit(lambda a: linalg.funm(a, jnp.sin))(a), scipy.linalg.sinm(a), 1e-9)


@dtypes
@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_solve_sylvester(dtype: Any, method: str):
    a, b, c = (
        matrix(2, 3, 3, dtype=dtype),
        matrix(4, 4, dtype=dtype, seed=1),
        matrix(3, 4, dtype=dtype),
    )
    x = np.asarray(linalg.solve_sylvester(a, b, c, method=method))
    assert x.dtype == dtype
    close(a @ x + x @ b, np.broadcast_to(c, (2, 3, 4)), 1e-8)
    singular = linalg.solve_sylvester(np.eye(2), -np.eye(2), np.eye(2), method=method)
    assert np.isnan(np.asarray(singular)).all()


@pytest.mark.parametrize("n", [1, 2, 7])
@dtypes
def test_eigh_tridiagonal(n: int, dtype: Any):
    d, e = matrix(n).astype(np.zeros(0, dtype).real.dtype), matrix(n - 1, dtype=dtype, seed=1)
    full = np.diag(d) + np.diag(e, -1) + np.diag(e.conj(), 1)
    exact = np.linalg.eigvalsh(full)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True), exact)
    close(jitney.jit(lambda d, e: linalg.eigh_tridiagonal(d, e, eigvals_only=True))(d, e), exact)
    values, vectors = map(np.asarray, linalg.eigh_tridiagonal(d, e))
    close(vectors @ np.diag(values) @ adjoint(vectors), full)
    some = linalg.eigh_tridiagonal(
        d, e, eigvals_only=True, select="i", select_range=(n // 2, n - 1)
    )
    close(some, exact[n // 2 :])


MATRICES = {
    "hilbert": (5,), "invhilbert": (5,), "pascal": (5,), "invpascal": (5,), "hadamard": (8,),
    "helmert": (5,), "dft": (6,), "toeplitz": ([1.0, 2, 3], [1.0, 5]),
    "hankel": ([1.0, 2, 3], [3.0, 5, 6]),
    "circulant": ([1.0, 2, 3],), "companion": ([2.0, 3, 4, 5],), "fiedler": ([1.0, 4, 9],),
    "fiedler_companion": ([2.0, 3, 4, 5, 6, 7, 8],), "leslie": ([0.1, 2, 1], [0.2, 0.8]),
    "block_diag": ([[1.0, 2]], [[3.0], [4.0]], 5.0), "convolution_matrix": ([1.0, 2, 3], 4),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
def test_structured_matrices(name: str):
    given = [np.array(x) if isinstance(x, list) else x for x in MATRICES[name]]
    exact = getattr(scipy.linalg, name)(*given)
    found = getattr(linalg, name)(*given)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-15)
    wanted = of_jax(lambda j: getattr(j.scipy.linalg, name)(*given).dtype)
    assert found.dtype == wanted or found.dtype.itemsize > 4


@pytest.mark.parametrize("kind", ["symmetric", "lower", "upper"])
def test_pascal(kind: str):
    assert linalg.pascal(0, kind).shape == (0, 0)
    for n in (1, 6):
        np.testing.assert_array_equal(linalg.pascal(n, kind), scipy.linalg.pascal(n, kind))
    product = np.asarray(linalg.pascal(6, kind)) @ np.asarray(linalg.invpascal(6, kind))
    np.testing.assert_array_equal(product, np.eye(6))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 4), (4, 3), (2, 5)])
def test_convolution_matrix(mode: str, m: int, n: int):
    a, v = matrix(m), matrix(n, seed=1)
    found = linalg.convolution_matrix(a, n, mode)
    np.testing.assert_allclose(np.asarray(found) @ v, np.convolve(a, v, mode), rtol=1e-12)
    batch = linalg.convolution_matrix(np.stack([a, 2 * a]), n, mode)
    np.testing.assert_allclose(batch[1], 2 * np.asarray(found))


def test_batches_of_structured_matrices():
    x = matrix(2, 4)
    for name in ("toeplitz", "hankel", "circulant", "companion", "fiedler", "fiedler_companion"):
        function = getattr(linalg, name)
        np.testing.assert_allclose(function(x)[1], function(x[1]))
    np.testing.assert_allclose(linalg.leslie(x, x[:, 1:])[1], linalg.leslie(x[1], x[1, 1:]))


NAMES = sorted(n for n in dir(linalg) if n[0] != "_")


def test_names():
    assert of_jax(lambda j: [n for n in dir(j.scipy.linalg) if n[0] != "_"]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_signature(name: str):
    def parameters(j: Any) -> list[Any]:
        found = inspect.signature(getattr(j.scipy.linalg, name)).parameters
        return [(n, int(p.kind), repr(p.default)) for n, p in found.items()]

    assert parameters(jitney) == of_jax(parameters)


def test_errors():
    square, flat = jnp.eye(3), jnp.ones((2, 3))
    cases = {
        r"expm.*: .*square.*\(2, 3\)": lambda: linalg.expm(flat),
        "'real' or 'complex'": lambda: linalg.schur(square, output="other"),
        "`Z` must be square": lambda: linalg.rsf2csf(square, flat),
        "polar.*: `side`.*'other'": lambda: linalg.polar(square, side="other"),
        "unknown method": lambda: linalg.polar(square, method="other"),
        "'schur' or 'eigen'|\"schur\" or \"eigen\"": lambda: linalg.solve_sylvester(
            square, square, square, method="other"
        ),
        "power of 2": lambda: linalg.hadamard(3),
        "`scale` must be 'sqrtn', 'n' or None": lambda: linalg.dft(2, scale="other"),
        "`dtype` must be complex, but it is float32": lambda: linalg.dft(2, dtype=jnp.float32),
        "helmert.*: `n`, .* 0": lambda: linalg.helmert(0),
        "pascal.*: `kind` must be one of .*'other'": lambda: linalg.pascal(3, "other"),
        "convolution_matrix.*: `mode` must be .*'other'": lambda: linalg.convolution_matrix(
            jnp.ones(3), 2, "other"
        ),
        r"`s` must have one element fewer .*\(3,\) and \(3,\)": lambda: linalg.leslie(
            jnp.ones(3), jnp.ones(3)
        ),
        "at least two coefficients": lambda: linalg.companion(jnp.ones(1)),
        "nonzero": lambda: linalg.fiedler_companion(jnp.ones(0)),
        r"block 0 has shape \(2, 2, 2\)": lambda: linalg.block_diag(jnp.ones((2, 2, 2))),
        "assume_a": lambda: linalg.solve(square, square, assume_a="other"),
        "solve_triangular.*: `trans` must be .*'other'": lambda: linalg.solve_triangular(
            square, square, trans="other"
        ),
        "lu_solve.*: `trans` must be .* 3": lambda: linalg.lu_solve(
            linalg.lu_factor(square), square, trans=3
        ),
        "qr.*: `mode` must be .*'other'": lambda: linalg.qr(square, mode="other"),
        "qr_multiply.*: `mode`.* must be 'left' or 'right'": lambda: linalg.qr_multiply(
            square, square, "other"
        ),
        "select_range": lambda: linalg.eigh_tridiagonal(jnp.ones(3), jnp.ones(2), select="i"),
    }
    for message, call in cases.items():
        with pytest.raises(ValueError, match=message):
            call()
    for call in (
        lambda: linalg.eigh(square, square),
        lambda: linalg.eigh(square, type=2),
        lambda: linalg.eigh_tridiagonal(jnp.ones(3), jnp.ones(2), select="v"),
    ):
        with pytest.raises(NotImplementedError):
            call()


LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda j, a: j.cholesky(a),
    "cho_factor": lambda j, a: j.cho_factor(a)[0],
    "eigh": lambda j, a: j.eigh(a),
    "expm_frechet": lambda j, a: j.expm_frechet(a, a),
    "lu": lambda j, a: j.lu(a),
    "lu_factor": lambda j, a: j.lu_factor(a),
    "polar": lambda j, a: j.polar(a),
    "qr": lambda j, a: j.qr(a),
    "qr_multiply": lambda j, a: j.qr_multiply(a, a),
    "rsf2csf": lambda j, a: j.rsf2csf(a, a),
    "solve_triangular": lambda j, a: j.solve_triangular(a, a),
    "svd": lambda j, a: j.svd(a),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_taken_where_jax_takes_them(name: str):
    rows = [[4.0, 1.0], [1.0, 3.0]]
    of_list, of_array = (LISTS[name](linalg, a) for a in (rows, jnp.array(rows)))
    for found, wanted in zip(
        jitney.tree.leaves(of_list), jitney.tree.leaves(of_array), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(TypeError):
        linalg.det(rows)
