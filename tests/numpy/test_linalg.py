"""`jax.numpy.linalg` and `jax.lax.linalg` against JAX: values, derivatives, vmap, jit."""

from functools import partial

import numpy as np
import pytest
import scipy
from tests.helpers.answers import agree_within
from tests.helpers.oracle import Raised, of_jax

import jitney
import jitney.numpy as jtnp
from jitney.compiler.reference import linalg as reference

R = np.random.RandomState(3)
SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))


def drawn(*shape):
    """Numbers of few bits: products of matrices of them are exact, the same on every machine."""
    return (np.round(64 * R.randn(*shape)) / 64).astype(np.float32)


A = drawn(4, 4) + 3 * np.eye(4, dtype=np.float32)
S = (A @ A.T + np.eye(4)).astype(np.float32)
C = (A + 1j * drawn(4, 4)).astype(np.complex64)
H = (C @ C.conj().T + np.eye(4)).astype(np.complex64)
TALL, WIDE = drawn(5, 3), drawn(3, 5)
STACK = np.stack([A, A @ A, S])
SINGULAR = np.diag(np.float32([2, 3, 0])) + np.triu(np.ones((3, 3), np.float32), 1)
V, B = drawn(4), drawn(4, 2)
LETTERS = drawn(4, 2, 2)
INTS = np.array([[3, 1], [1, 2]])
OPERANDS = {
    "A": A, "S": S, "C": C, "H": H, "TALL": TALL, "WIDE": WIDE, "STACK": STACK, "SINGULAR": SINGULAR,
    "V": V, "B": B, "LETTERS": LETTERS, "INTS": INTS,
}  # fmt: skip

VALUES = [
    "inv(A)", "inv(C)", "inv(STACK)", "inv(INTS)", "solve(A, V)", "solve(C, C)",
    "solve(STACK, B[None])",
    "solve(A, B)", "det(A)", "det(C)", "det(STACK)", "det(SINGULAR)", "det(INTS)", "slogdet(STACK)",
    "slogdet(C)", "slogdet(SINGULAR)", "slogdet(A, method='qr')", "cholesky(S)", "cholesky(H)",
    "cholesky(H, upper=True)", "cholesky(-S)", "eigvalsh(S)", "eigvalsh(H, 'U')", "eigh(S)[0]",
    "eigvals(S)", "eig(A)", "svd(A)[1]", "svd(C)", "svd(TALL, full_matrices=False)[1]", "svd(WIDE)[1]",
    "svd(S, hermitian=True, compute_uv=False)", "svd(STACK, compute_uv=False)", "svdvals(WIDE)",
    "qr(A)", "qr(TALL)", "qr(TALL, 'complete')", "qr(TALL, 'full')",
    "qr(WIDE, 'r')", "qr(TALL, 'raw')", "pinv(TALL)",
    "pinv(WIDE)", "pinv(C)", "pinv(S, hermitian=True)", "pinv(SINGULAR, rtol=0.1)",
    "lstsq(TALL, TALL[:, 0] + 1)", "lstsq(TALL, TALL + 1)", "lstsq(SINGULAR, SINGULAR.T + 1)",
    "matrix_rank(SINGULAR)", "matrix_rank(STACK)", "matrix_rank(V)", "cond(A)", "cond(A, 1)",
    "cond(A, 'fro')", "cond(A, -2)", "cond(A, np.inf)", "norm(A)", "norm(V)", "norm(STACK)",
    "norm(V, 1)", "norm(V, 3)", "norm(V, 0)", "norm(V, np.inf)", "norm(V, -np.inf)", "norm(C)",
    "norm(A, 1)", "norm(A, -1)", "norm(A, np.inf)", "norm(A, 2)", "norm(A, -2)", "norm(A, 'nuc')",
    "norm(STACK, 2, (1, 2))", "norm(STACK, axis=1, keepdims=True)", "norm(INTS)",
    "norm(STACK, 'nuc', (2, 0), True)", "vector_norm(STACK)", "vector_norm(A, axis=0, ord=1)",
    "vector_norm(STACK, axis=(0, 2), keepdims=True)", "matrix_norm(STACK)",
    "matrix_norm(STACK, ord=2, keepdims=True)", "matrix_power(A, 5)", "matrix_power(A, -2)",
    "matrix_power(A, 0)", "multi_dot([A, B, B.T, V])", "multi_dot([V, A, S])",
    "cross(A[:3], S[:3], axis=0)",
    "outer(V, V)", "matmul(A, B)", "tensordot(STACK, A, axes=1)", "vecdot(A, S)", "trace(STACK)",
    "trace(A, offset=1)", "diagonal(STACK, offset=-1)", "matrix_transpose(STACK)",
    "tensorinv(LETTERS, 1)", "tensorsolve(LETTERS.reshape(2, 2, 4), INTS)",
]  # fmt: skip

# (function of the namespace and one array, array); "values only" where vectors have free signs
DERIVATIVES = {
    "solve a": (lambda j, x: j.linalg.solve(x, B), A),
    "solve b": (lambda j, x: j.linalg.solve(A, x), V),
    "inv": (lambda j, x: j.linalg.inv(x), A),
    "inv complex": (lambda j, x: abs(j.linalg.inv(x)), C),
    "det": (lambda j, x: j.linalg.det(x), A),
    "det singular": (lambda j, x: j.linalg.det(x), SINGULAR),
    "slogdet": (lambda j, x: j.linalg.slogdet(x)[1], A),
    "slogdet complex": (lambda j, x: abs(j.linalg.slogdet(x)[0] + 2), C),
    "cholesky": (lambda j, x: j.linalg.cholesky(x), S),
    "eigh": (lambda j, x: j.linalg.eigh(x)[1] ** 4, S),
    "eigvalsh": (lambda j, x: j.linalg.eigvalsh(x), S),
    "svdvals": (lambda j, x: j.linalg.svdvals(x), TALL),
    "svd": (lambda j, x: j.linalg.svd(x, full_matrices=False)[0] ** 4, WIDE),
    "qr": (lambda j, x: j.linalg.qr(x)[1], TALL),
    "norm": (lambda j, x: j.linalg.norm(x), A),
    "norm 2": (lambda j, x: j.linalg.norm(x, 2), A),
    "norm 3": (lambda j, x: j.linalg.norm(x, 3), V),
    "pinv": (lambda j, x: j.linalg.pinv(x), TALL),
    "pinv wide": (lambda j, x: j.linalg.pinv(x), WIDE),
    "pinv complex": (lambda j, x: abs(j.linalg.pinv(x)), C[:, :3]),
    "pinv hermitian": (lambda j, x: abs(j.linalg.pinv(x, hermitian=True)), H),
    "lstsq": (lambda j, x: j.linalg.lstsq(x, x[:, 0] + 1)[0], TALL),
    "matrix_power": (lambda j, x: j.linalg.matrix_power(x, 3), A),
    "eigvals": (lambda j, x: abs(j.linalg.eigvals(x)), A),
}


def close(ours, theirs, rtol=2e-3):
    ours, theirs = jitney.tree.leaves(ours), jitney.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        y = np.asarray(y)
        scale = np.max(np.abs(y[np.isfinite(y)]), initial=1e-3)
        np.testing.assert_allclose(np.asarray(x), y, rtol=rtol, atol=2e-5 * scale)


def evaluated(line, j):
    return eval(f"linalg.{line}", {**OPERANDS, "np": np, "linalg": j.numpy.linalg})


@pytest.mark.parametrize("line", VALUES)
def test_values(line):
    def result(j):
        found = evaluated(line, j)
        return found, getattr(found, "_fields", None)

    (ours, fields), (theirs, their_fields) = result(jitney), of_jax(result)
    close(ours, theirs)
    assert fields == their_fields


def test_the_residual_of_an_exact_solution_is_rounding():
    """Its digits differ between processors, so that JAX's cannot be recorded."""
    found, residual, rank, _ = jtnp.linalg.lstsq(TALL, TALL[:, 0])
    np.testing.assert_allclose(found, [1, 0, 0], atol=5e-6)
    assert residual.shape == (1,)
    assert 0 <= residual[0] < 1e-10
    assert rank == 3


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    f, x = DERIVATIVES[name]
    weigh = lambda y: (y * np.arange(1, 1 + y.size).reshape(y.shape)).sum()  # noqa: E731
    ours = jitney.grad(lambda x: weigh(f(jtnp, x)))
    theirs = of_jax(lambda j: j.grad(lambda x: weigh(f(j.numpy, x)))(j.numpy.asarray(x)))
    x = jtnp.asarray(x)
    close(ours(x), theirs, 1e-2)
    close(jitney.jit(ours)(x), theirs, 1e-2)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_vmap_and_jit(name):
    f, x = DERIVATIVES[name]
    rows = np.stack([x, x * np.float32(1.5)], 1)
    ours = jitney.vmap(lambda x: f(jtnp, x), 1)
    theirs = of_jax(lambda j: j.vmap(lambda x: f(j.numpy, x), 1)(j.numpy.asarray(rows)))
    close(ours(jtnp.asarray(rows)), theirs)
    close(jitney.jit(ours)(jtnp.asarray(rows)), theirs)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(left, lower, transpose):
    options = {"left_side": left, "lower": lower, "transpose_a": transpose}
    for a, extra in ((A, {}), (C, {"conjugate_a": True}), (A, {"unit_diagonal": True})):

        def slopes(j, a=a, extra=extra):
            def loss(a, b):
                return abs(j.lax.linalg.triangular_solve(a, b, **options, **extra)).sum()

            return j.value_and_grad(loss, argnums=(0, 1))(a, a + 1)

        close(slopes(jitney), of_jax(slopes))


@pytest.mark.parametrize("a", [A, C])
def test_real_systems_are_not_conjugated(a):
    def text(j):
        options = {"transpose_a": True, "conjugate_a": True}
        return str(j.make_jaxpr(lambda a: j.lax.linalg.triangular_solve(a, a, **options))(a))

    assert text(jitney) == of_jax(text)


ERRORS = {  # call -> what our message says
    "inv(TALL)": r"inv: .*square.*\(5, 3\)",
    "det(V)": r"det: .*square.*\(4,\)",
    "solve(A, TALL)": r"(?s)solve: .*rows.*\[4,4\].*\[5,3\]",
    "norm(A, 7)": "7",
    "norm(STACK, 2)": r"norm: .*one axis.* two.*\(0, 1, 2\)",
    "norm(V, 'fro')": "'fro'",
    "eigh(A, 'X')": "eigh: `UPLO`.*'L' or 'U', but it is 'X'",
    "qr(A, 'bad')": "qr: `mode` .*'reduced'.*'bad'",
    "cond(TALL, 1)": r"cond: for p=1, .*square.*\(5, 3\)",
    "matrix_power(TALL, 2)": r"matrix_power: .*square.*\(5, 3\)",
    "inv([[1.0]])": "inv: .* position 0 is of <class 'list'>",
    "matrix_power(A, 1.5)": "matrix_power: `n` must be an integer, but it is 1.5",
    "outer(A, A)": r"outer: .*vectors.*\(4, 4\) and \(4, 4\)",
    "slogdet(A, method='bad')": "slogdet: `method` .*'lu', 'qr' or None.*'bad'",
}


@pytest.mark.parametrize("line", ERRORS)
def test_errors(line):
    theirs = of_jax(lambda j: evaluated(line, j))
    kinds = [kind for kind in (ValueError, TypeError) if theirs.is_a(kind)]
    assert len(kinds) == 1
    with pytest.raises(kinds[0], match=ERRORS[line]) as ours:
        evaluated(line, jitney)
    assert theirs.name in [c.__name__ for c in ours.type.__mro__]


def test_polynomials():
    x, y = np.linspace(0, 1, 9, dtype=np.float32), np.linspace(0, 1, 9, dtype=np.float32) ** 2
    close(jtnp.polyfit(x, y + 1, 2), of_jax(lambda j: j.numpy.polyfit(x, y + 1, 2)))
    ours = np.sort_complex(np.asarray(jtnp.roots(np.float32([1, -6, 11, -6]))))
    np.testing.assert_allclose(ours, [1, 2, 3], rtol=1e-4)


def test_norms_of_nothing():
    for shape in ((0,), (0, 3), (3, 0), (0, 0)):
        x = np.zeros(shape, np.float32)
        for order in (1, 2, np.inf, -1, -2, -np.inf):
            for name in ("vector_norm",) if len(shape) == 1 else ("matrix_norm",):
                ours = getattr(jtnp.linalg, name)

                def norm(j, x=x, order=order, name=name):
                    return getattr(j.numpy.linalg, name)(x, ord=order)

                expected = of_jax(norm)
                if isinstance(expected, Raised):
                    assert expected.is_a(ValueError)
                    with pytest.raises(ValueError, match="minimum of an empty array"):
                        ours(x, ord=order)
                else:
                    np.testing.assert_array_equal(ours(x, ord=order), expected)


def test_systems_of_one_more_axis_and_of_none():
    rng = np.random.default_rng(0)
    for shapes in (
        ((2, 3, 3), (3, 3)),
        ((2, 3, 3), (3, 4)),
        ((4, 2, 3, 3), (2, 3, 3)),
        ((1, 0, 0), (1, 0, 2)),
    ):
        a, b = (rng.normal(size=s) for s in shapes)
        for f in (jtnp.linalg.solve, jitney.jit(jtnp.linalg.solve)):
            found = f(a.astype(np.float32), b.astype(np.float32))
            np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match=r"solve.*: `b` must be one vector, or matrices of 2 rows"):
        jtnp.linalg.solve(np.eye(2)[None], np.ones((3, 2)))


def test_least_squares_without_columns():
    rng = np.random.default_rng(0)
    for m, right in ((3, (3,)), (3, (3, 2)), (0, (0,))):
        a, b = np.zeros((m, 0)), rng.normal(size=right)
        ours = jtnp.linalg.lstsq(a, b, numpy_resid=True)
        for x, y in zip(ours, np.linalg.lstsq(a, b, rcond=None), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("rcond", [None, -1.0, 0.0, 1e-3, 0.3, 0.7])
def test_least_squares_leave_out_what_is_small(rcond):
    """Singular values 4, 2 and 1: those below `rcond` times the first are as if they were 0."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (5, 3))
    a, b = (u[:, :3] * [4, 2, 1]) @ v, rng.normal(size=5)
    x, _, rank, s = jtnp.linalg.lstsq(a.astype(np.float32), b.astype(np.float32), rcond)
    wanted = np.linalg.lstsq(a, b, rcond)
    assert rank == wanted[2] == {0.3: 2, 0.7: 1}.get(rcond, 3)
    np.testing.assert_allclose(x, wanted[0], atol=1e-5)
    np.testing.assert_allclose(s, wanted[3], rtol=1e-5)


def test_ranks_take_one_tolerance():
    with pytest.raises(ValueError, match="`rtol` and `tol` are two names"):
        jtnp.linalg.matrix_rank(np.eye(2), rtol=1e-2, tol=1e-2)
    with jitney.numpy_rank_promotion("raise"):
        assert jtnp.linalg.matrix_rank(np.ones((5, 3, 3)), 1e-2).tolist() == [1] * 5
        slope = jitney.grad(lambda x: jtnp.linalg.det(x).sum())(np.ones((5, 3, 3), np.float32))
    np.testing.assert_allclose(slope, np.zeros((5, 3, 3)), atol=1e-6)


def test_tridiagonal_form_reads_one_triangle():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.complex64):
        x = rng.normal(size=(2, 5, 5)) + (
            1j * rng.normal(size=(2, 5, 5)) if dtype == np.complex64 else 0
        )
        for lower in (False, True):

            def form(j, x=x, dtype=dtype, lower=lower):
                return j.lax.linalg.tridiagonal(x.astype(dtype), lower=lower)

            for a, b in zip(form(jitney), of_jax(form), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_singular_tridiagonal_systems():
    rng = np.random.default_rng(0)
    zero, ones = np.zeros(3, np.float32), np.ones((3, 1), np.float32)
    x = jitney.lax.linalg.tridiagonal_solve(zero, zero, zero, ones, perturb_singular=True)
    assert np.isfinite(x).all() and (np.abs(x) > 1e6).all()
    assert not np.isfinite(jitney.lax.linalg.tridiagonal_solve(zero, zero, zero, ones)).any()
    for n in (1, 2, 7):  # nothing changes where T is regular, whatever is exchanged
        dl, d, du = (rng.normal(size=(2, n)).astype(np.float32) for _ in range(3))
        b = rng.normal(size=(2, n, 3)).astype(np.float32)
        d[:, 0] *= 1e-3
        x, y = (
            jitney.lax.linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=p)
            for p in (False, True)
        )
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-3 * np.abs(y).max())


@pytest.mark.parametrize("left, right", [(True, False), (True, True)])
def test_derivatives_of_left_eigenvectors(left, right):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 4)).astype(np.float32)
    t = rng.normal(size=(4, 4)).astype(np.float32)

    def function(library):
        def squares(x):  # which are the same for vectors of either sign
            values, *vectors = library.lax.linalg.eig(
                x, compute_left_eigenvectors=left, compute_right_eigenvectors=right,
                enable_eigvec_derivs=True,
            )  # fmt: skip
            return [values, *[v * v for v in vectors]]

        return library.jvp(squares, (x,), (t,))

    found, expected = (jitney.tree.leaves(x) for x in (function(jitney), of_jax(function)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)
    with pytest.raises(NotImplementedError, match="enable_eigvec_derivs=True"):
        jitney.jvp(lambda x: jitney.lax.linalg.eig(x)[1], (x,), (t,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("power", [-1, 0, 1])
@pytest.mark.parametrize("has_pairs", [False, True])
def test_eigenvalues_of_matrices_of_any_size(dtype, power, has_pairs):
    """They are those of the scaled matrix times the scale, and vectors are the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 5)).astype(dtype)
    if not has_pairs:
        x = x @ np.diag(np.arange(1, 6)).astype(dtype) @ np.linalg.inv(x).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x = x + np.dtype(dtype).type(0.25j) * x[::-1]
    exponent = power * (100 if np.finfo(dtype).bits == 32 else 465)
    with jitney.enable_x64(True):
        scaled = np.ldexp(x.view(x.real.dtype), exponent).view(dtype)
        stack = np.stack([x, scaled])
        for eig in (
            jtnp.linalg.eig,
            jitney.jit(jtnp.linalg.eig),
            lambda a: reference.eig(a, False, True),
        ):
            values, vectors = map(np.asarray, eig(stack))
            back = np.ldexp(values[1:].view(x.real.dtype), -exponent).view(values.dtype)
            size = np.abs(values[0]).max()
            for w, v in ((values[0], vectors[0]), (back[0], vectors[1])):
                error = np.abs(x @ v - v * w).max()
                assert error <= 100 * np.finfo(dtype).eps * size


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (16, 16), (20, 18), (18, 20)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_triangles_of_matrices_that_are_not_finite(dtype, shape, value):
    """R stays upper triangular, and a neighbour in the batch is not touched."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.normal(size=shape)] * 2).astype(dtype)
    x[1, 1, 1] = value
    for mode in ("reduced", "complete", "r"):
        r = jtnp.linalg.qr(x, mode)
        r = np.asarray(r if mode == "r" else r[1])
        assert (np.tril(r, -1) == 0).all() and np.isfinite(r[0]).all()
        assert not np.isfinite(r[1, 1, 1])


def cholesky_with_nan(x, row, column):
    """The factor of `x`, with NaN for whatever depends on an element: no kernel spreads it less."""
    out = np.linalg.cholesky(x.astype(np.float64)).astype(x.dtype)
    row, column = row % len(x), column % len(x)
    if column <= row:
        out[row, column:] = np.nan
        out[row:, row:] = np.nan
    return np.tril(out)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (1, 0), (1, 1), (2, 1), (0, 2), (-1, -1)])
@pytest.mark.parametrize("n", [3, 7, 16, 20, 40])
@pytest.mark.parametrize("name", ["qr", "cholesky"])
def test_factors_before_what_is_not_finite(name, n, place, value):
    """As in LAPACK: eagerly, compiled, in a batch, and in the reference."""
    if name == "qr" and place == (1, 0) and np.isinf(value) and SCIPY < (1, 17):
        pytest.skip(
            "the norm of a column with an infinity is NaN or infinite, by OpenBLAS's version"
        )
    x = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32) + 2 * n * np.eye(
        n, dtype="f4"
    )
    clean = (x + x.T) / 2
    x = clean.copy()
    x[place] = value
    options = {"symmetrize_input": False} if name == "cholesky" else {}
    f = partial(getattr(jtnp.linalg, name), **options)
    if name == "cholesky" and np.isnan(value):  # SciPy's kernels spread it further, some of them
        wanted = [cholesky_with_nan(clean, *place)]
    else:
        wanted = of_jax(
            lambda j: j.tree.leaves(getattr(j.numpy.linalg, name)(x, **options)),
            agrees=agree_within(1e-4, 1e-5),
        )
    stacked = [part[1] for part in jitney.tree.leaves(f(np.stack([np.eye(n, dtype="f4"), x])))]
    slow = getattr(reference, name)(x)
    ways = [f(x), jitney.jit(f)(x), stacked, np.tril(slow) if name == "cholesky" else slow]
    for got in ways:
        for part, want in zip(jitney.tree.leaves(got), wanted, strict=True):
            np.testing.assert_allclose(part, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (20, 20)])
@pytest.mark.parametrize("batch", [(), (1,), (3,)])
def test_singular_vectors_of_infinities(batch, shape):
    x = np.ones((*batch, *shape), np.float32)
    x[..., 1, 1] = np.inf
    for part in jtnp.linalg.svd(x):
        assert np.isnan(part).all()


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 16])
@pytest.mark.parametrize("batch", [(), (1,)])
def test_vectors_of_one_matrix_have_the_signs_of_lapack(batch, n):
    """Which depend on the processor, as rounding does: it is asked here, by the routines JAX calls."""
    lapack = scipy.linalg.lapack
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
        symmetric = x + x.T
        _, vectors, _ = lapack.ssyevd(symmetric, lower=1)
        parts = lapack.sgesdd(x)[:3]
        for eigh in (jtnp.linalg.eigh, jitney.jit(jtnp.linalg.eigh)):
            found = eigh(symmetric.reshape(*batch, n, n))[1]
            np.testing.assert_allclose(found.reshape(n, n), vectors, atol=2e-4)
        for found, want in zip(jtnp.linalg.svd(x.reshape(*batch, n, n)), parts, strict=True):
            np.testing.assert_allclose(found.reshape(want.shape), want, rtol=1e-4, atol=2e-4)


def test_derivatives_of_pseudoinverses_need_no_large_square_matrix():
    n = 50_000  # whose square would be 10 GB
    x = jtnp.asarray(R.randn(2, n).astype(np.float32))
    for a in (x, x.T):
        p, dp = jitney.jvp(jtnp.linalg.pinv, (a,), (a,))
        np.testing.assert_allclose(dp, -p, rtol=1e-4, atol=1e-8)  # of (1 + t) a


def test_a_pseudoinverse_has_one_bound():
    with pytest.raises(ValueError, match="`rtol` and `rcond` are two names"):
        jtnp.linalg.pinv(A, rtol=0.1, rcond=0.1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_tridiagonal_solve_is_native_and_exchanges_rows(n, dtype):
    rng = np.random.default_rng(n)

    def some(*shape):
        x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        return (x if dtype[0] == "c" else x.real).astype(dtype)

    dl, d, du, b = some(3, n), some(3, n), some(3, n), some(3, n, 2)
    d[0] *= 0.01  # pivots are below
    d[2, n // 2] = np.nan
    with jitney.enable_x64(True):
        solve = jitney.jit(jitney.lax.linalg.tridiagonal_solve, static_argnames="perturb_singular")
        assert "lapack.tridiagonal_solve" in solve.lower(dl, d, du, b).as_text("kernels")
        x = np.asarray(solve(dl, d, du, b))
        np.testing.assert_array_equal(x, jitney.lax.linalg.tridiagonal_solve(dl, d, du, b))
        near = np.asarray(solve(dl, d, du, b, perturb_singular=True))
    rows = [np.diag(d[k]) + np.diag(dl[k, 1:], -1) + np.diag(du[k, :-1], 1) for k in range(3)]
    expected = np.stack([np.linalg.solve(rows[k], b[k]) for k in range(2)])
    eps = float(np.finfo(dtype).eps)
    bound = 100 * n * eps * np.abs(expected).max() * max(np.linalg.cond(rows[k]) for k in range(2))
    assert np.abs(x[:2] - expected).max() <= bound
    assert np.abs(near[:2] - expected).max() <= bound
    assert np.isnan(x[2]).any()


def test_cholesky_update_and_symmetric_product_call_no_python():
    rng = np.random.default_rng(0)
    r, w, a = (
        np.triu(rng.normal(size=(2, 4, 4))),
        rng.normal(size=(2, 4)),
        rng.normal(size=(2, 4, 3)),
    )
    with jitney.enable_x64(True):
        s = np.asarray(jitney.jit(jitney.lax.linalg.cholesky_update)(r, w))
        product = jitney.jit(partial(jitney.lax.linalg.symmetric_product, alpha=2, beta=0.5))(a, r)
    assert not np.tril(s, -1).any()
    mat = np.swapaxes(r, 1, 2) @ r + w[:, :, None] * w[:, None, :]
    np.testing.assert_allclose(np.swapaxes(s, 1, 2) @ s, mat, atol=1e-13)
    np.testing.assert_allclose(product, 2 * (a @ np.swapaxes(a, 1, 2)) + 0.5 * r, atol=1e-13)


def test_pivots_become_a_permutation_in_a_native_loop():
    pivots = np.array([[3, 1, 4, 4, 4], [0, 2, 9, 3, -1]], np.int32)
    order = jitney.jit(lambda p: jitney.lax.linalg.lu_pivots_to_permutation(p, 6))(pivots)
    np.testing.assert_array_equal(order, [[3, 1, 4, 2, 0, 5], [0, 2, 1, 3, 4, 5]])


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, "fro", "nuc", np.inf, -np.inf])
def test_condition_of_no_matrices(p):
    for shape in ((0, 3, 3), (2, 0, 1, 1)):
        found = jtnp.linalg.cond(jtnp.ones(shape), p)
        assert (found.shape, found.dtype) == (shape[:-2], np.float32)
    with pytest.raises(ValueError, match=r"must have elements, but `x` has shape \(3, 0, 0\)"):
        jtnp.linalg.cond(jtnp.ones((3, 0, 0)), p)
