"""LAPACK called by address: against the reference implementation, in programs, by threads, on disk."""

import numpy as np
import pytest
from tests.helpers.threads import in_threads

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import lapack, library
from jitney.compiler.hlo import verify
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.text import print_module
from jitney.core.util import record

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "complex64", "complex128"]
BATCHES = [(), (1,), (3, 2), (0,)]
SIZES = [
    (0, 0),
    (0, 3),
    (4, 0),
    (1, 1),
    (3, 3),
    (5, 2),
    (2, 5),
    (17, 17),
    (40, 7),
    (7, 40),
    (65, 65),
]


def real(dtype):
    return np.zeros(0, dtype).real.dtype


def random(*shape, dtype):
    x = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def run(name, sizes, operands, shapes):
    """Results of the function; `shapes` are (shape of one result, dtype)."""
    batch = operands[0].shape[:-2]
    types = [((*batch, *shape), np.dtype(dtype)) for shape, dtype in shapes]
    results = lapack.run(lapack.routine(name, *sizes), operands)
    assert [(x.shape, x.dtype) for x in results] == types
    return results


def close(x, y, dtype, factor=1):
    bound = factor * (2e-5 if real(dtype) == np.float32 else 1e-13)
    scale = max(np.abs(y).max(), 1) if np.size(y) else 1
    np.testing.assert_allclose(x, y, rtol=0, atol=bound * scale)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", SIZES)
def test_products_of_factors(m, n, dtype):
    for batch in BATCHES:
        x = random(*batch, m, n, dtype=dtype)
        k, size = min(m, n), max(m, n, 1)
        for width in (k, m):
            q, r = run("qr", (m, n, width), [x], [((m, width), dtype), ((width, n), dtype)])
            close(q @ r, x, dtype, size)
            close(
                adjoint(q) @ q, np.broadcast_to(np.eye(width), r.shape[:-1] + (width,)), dtype, size
            )
            np.testing.assert_array_equal(r, np.triu(r))
        shapes = [((m, n), dtype), ((k,), "int32"), ((m,), "int32")]
        factors, pivots, order = run("lu", (m, n), [x], shapes)
        low = np.tril(factors[..., :, :k], -1) + np.eye(m, k)
        rows = np.take_along_axis(x, order[..., None].astype(np.int64), -2)
        close(low @ np.triu(factors[..., :k, :]), rows, dtype, size)
        assert pivots.size == 0 or (pivots.min() >= 0 and pivots.max() < m)
        for rows_, columns in ((m, n), (k, k)):
            shapes = [((k,), real(dtype)), ((m, rows_), dtype), ((columns, n), dtype)]
            s, u, vh = run("svd", (m, n, rows_, columns, batch != ()), [x], shapes)
            close((u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :], x, dtype, size)
            assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
        (alone,) = run("svd", (m, n, -1, -1, True), [x], shapes[:1])
        close(alone, s, dtype, size)
        shapes = [((m, n), dtype), ((k,), dtype)]
        vectors, taus = run("geqrf", (m, n), [x], shapes)
        if m >= n:
            (q,) = run("householder_product", (m, n, k), [vectors, taus], [((m, n), dtype)])
            close(q @ np.triu(vectors[..., :n, :]), x, dtype, size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 8, 33, 70])
def test_products_of_factors_of_square_matrices(n, dtype):
    for batch in BATCHES:
        x = random(*batch, n, n, dtype=dtype)
        definite = x @ adjoint(x) + n * np.eye(n, dtype=dtype)
        (low,) = run("cholesky", (n,), [np.tril(definite)], [((n, n), dtype)])
        close(low @ adjoint(low), definite, dtype, max(n, 1))
        np.testing.assert_array_equal(low, np.tril(low))
        for lower in (False, True):
            hermitian = x + adjoint(x)
            part = (np.tril if lower else np.triu)(hermitian)
            shapes = [((n, n), dtype), ((n,), real(dtype))]
            vectors, values = run("eigh", (n, lower, batch != ()), [part], shapes)
            close(hermitian @ vectors, vectors * values[..., None, :], dtype, max(n, 1))
            close(adjoint(vectors) @ vectors, np.broadcast_to(np.eye(n), x.shape), dtype, max(n, 1))
            assert np.all(np.diff(values) >= 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(left, lower, form, unit, dtype):
    for n, others in ((1, 1), (5, 3), (40, 11), (3, 0)):
        a = random(2, n, n, dtype=dtype) / n + 2 * np.eye(n, dtype=dtype)
        b = random(2, *((n, others) if left else (others, n)), dtype=dtype)
        sizes = (*b.shape[1:], left, lower, form, unit)
        (x,) = run("triangular_solve", sizes, [a, b], [(b.shape[1:], dtype)])
        part = (np.tril if lower else np.triu)(a)
        if unit:
            part = part - part * np.eye(n, dtype=dtype) + np.eye(n, dtype=dtype)
        part = part if form == 0 else np.swapaxes(part, -1, -2)
        part = part.conj() if form == 2 else part
        close(part @ x if left else x @ part, b, dtype, 10 * n)


@pytest.mark.parametrize("name", lapack.NAMES)
def test_native_code_agrees_with_the_reference_implementation(name):
    """Up to rounding; and up to signs where NumPy's LAPACK is another version."""
    for dtype in DTYPES:
        m, n, k = 9, 6, 6
        sizes = {
            "cholesky": (n,), "eigh": (n, 1, 1), "lu": (m, n), "geqrf": (m, n), "qr": (m, n, k),
            "svd": (m, n, k, k, 1), "householder_product": (m, n, k),
            "triangular_solve": (n, m, 1, 1, 0, 0), "ormqr": (m, 3, n, k, 1, 1), "hessenberg": (n,),
            "tridiagonal": (n, 1), "schur": (n, 1), "eig": (n, 1, 1), "cholesky_update": (n,),
            "tridiagonal_solve": (m, n, 0),
        }[name]  # fmt: skip
        x = random(4, m, n, dtype=dtype)
        square = adjoint(x) @ x
        operands = {
            "cholesky": [square], "eigh": [square], "triangular_solve": [square, adjoint(x).copy()],
            "householder_product": [x, random(4, k, dtype=dtype)],
            "ormqr": [x, random(4, k, dtype=dtype), random(4, m, 3, dtype=dtype)],
            "hessenberg": [square], "tridiagonal": [square], "schur": [square], "eig": [square],
            "cholesky_update": [np.triu(square), random(4, n, dtype=dtype)],
            "tridiagonal_solve": [*[random(4, m, dtype=dtype) for _ in range(3)], x],
        }.get(name, [x])  # fmt: skip
        routine = lapack.routine(name, *sizes)
        expected = library.find(routine.name).reference(*operands, **dict(routine.params))
        found = lapack.run(routine, operands)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            if name in ("eigh", "svd"):
                a, b = np.abs(a), np.abs(b)
            close(a, b, dtype, 200)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_what_has_no_factors_is_nan_and_its_neighbours_are_not(dtype):
    x = np.stack([np.eye(40)] * 3).astype(dtype)
    x[1, 20, 20] = -1
    for f in (jnp.linalg.cholesky, jitney.jit(jnp.linalg.cholesky)):
        low = np.asarray(f(jnp.asarray(x)))
        assert np.isnan(low[1][np.tril_indices(40)]).all()
        np.testing.assert_array_equal(low[[0, 2]], x[[0, 2]])
    x = np.stack([np.eye(30)] * 3).astype(dtype)
    x[1, 3, 4] = np.nan
    for f in (jnp.linalg.svd, jnp.linalg.eigh):
        for g in (f, jitney.jit(f)):
            for out in g(jnp.asarray(x)):
                assert np.isnan(out[1]).all() and not np.isnan(np.asarray(out)[[0, 2]]).any()
    x[1] = 0
    factors, _, order = jitney.jit(lax.linalg.lu)(jnp.asarray(x))
    assert not np.asarray(factors[1]).any()
    np.testing.assert_array_equal(order, np.broadcast_to(np.arange(30), order.shape))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_wider(dtype):
    x = jnp.asarray(random(2, 8, 8, dtype="float32"), dtype)
    square = x @ jnp.swapaxes(x, -1, -2) + 8 * jnp.eye(8, dtype=dtype)
    for f in (lax.linalg.cholesky, jitney.jit(lax.linalg.cholesky)):
        low = f(square)
        assert low.dtype == dtype
        expected = np.linalg.cholesky(np.asarray(square, np.float32))
        np.testing.assert_allclose(np.asarray(low, np.float32), expected, rtol=2e-2, atol=2e-2)


def test_programs_call_no_python():
    x = jnp.asarray(random(3, 20, 20, dtype="float32") + 20 * np.eye(20, dtype=np.float32))
    for f in (
        jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.eigh, jnp.linalg.svd, jnp.linalg.qr,
        jnp.linalg.slogdet, lambda x: jnp.linalg.solve(x, x[..., :1]), jnp.linalg.pinv,
    ):  # fmt: skip
        compiled = jitney.jit(f)
        text = compiled.lower(x).as_text("kernels")
        calls = [line.split()[1] for line in text.splitlines() if "_call " in line]
        assert calls and all(call.startswith("lapack.") for call in calls)
        for a, b in zip(
            jitney.tree_util.tree_leaves(compiled(x)),
            jitney.tree_util.tree_leaves(f(x)),
            strict=True,
        ):
            close(a, np.asarray(b), "float32", 100)


def test_in_loops_and_branches():
    @jitney.jit
    def f(x):
        def step(i, x):
            step = lax.cond(i % 2 == 0, jnp.linalg.inv, lambda x: jnp.linalg.qr(x)[0], x)
            return x + 0.1 * step

        return lax.fori_loop(0, 5, step, x)

    x = random(10, 10, dtype="float32") + 10 * np.eye(10, dtype=np.float32)
    expected = x
    for i in range(5):
        step = np.linalg.inv(expected) if i % 2 == 0 else np.linalg.qr(expected)[0]
        expected = expected + np.float32(0.1) * step
    close(f(x), expected, "float32", 10)


def test_batches_that_threads_divide_have_the_bits_of_their_parts():
    x = random(500, 9, 9, dtype="float64")
    s, u, vh = jitney.jit(lambda x: lax.linalg.svd(x, full_matrices=False))(x)
    for i in (0, 123, 250, 499):
        parts = lax.linalg.svd(jnp.asarray(x[[i, i]]), full_matrices=False)
        for whole, part in zip((s, u, vh), parts, strict=True):
            np.testing.assert_array_equal(whole[i], part[0])


def test_calls_of_several_threads():
    f = jitney.jit(lambda x: jnp.linalg.eigh(x)[0])
    xs = [jnp.asarray(random(20, 12, 12, dtype="float64")) for _ in range(4)]
    expected = [f(x) for x in xs]

    def work(i):
        for _ in range(30):
            np.testing.assert_array_equal(f(xs[i]), expected[i])

    in_threads(4, work)


def test_operands_that_do_not_lie_in_rows():
    x = random(6, 20, 5, dtype="float32")
    views = [x.transpose(0, 2, 1), x[::2], x[:, ::-1], np.asfortranarray(x)]
    for view in views:
        close(jnp.linalg.svd(view)[1], np.linalg.svd(view)[1], "float32", 10)


def test_text_and_verifier():
    b = Builder()
    x = b.parameter(0, TensorType((2, 9, 9), np.dtype(np.float32)))
    out = b.library_call("lapack.cholesky", (("n", 9),), [x])
    module = b.module("f", [x], out)
    verify.verify(module)
    text = "library_call p0 name=lapack.cholesky params={n=9} : (float32[2,9,9])"
    assert text in print_module(module)
    assert print_module(parse_module(print_module(module))) == print_module(module)
    for change, constraint in (
        ({"name": "no_such"}, "C1"),
        ({"params": (("n", None.__class__),)}, "C2"),
        ({"params": (("m", 9),)}, "C3"),
        ({"type": (TensorType((9, 9), np.dtype(np.float32)),)}, "type"),
    ):
        node = record.replace(out[0].node, **change)
        with pytest.raises(AssertionError, match=f"library_call.{constraint}"):
            verify.verify_node(node)


FORMS = [1, 2, 3, 20]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_reflections(dtype):
    for m, columns in ((5, 3), (4, 4), (3, 5), (40, 20)):
        x = random(2, m, columns, dtype=dtype)
        factors, taus = lapack.run(lapack.routine("geqrf", m, columns), [x])
        k = min(m, columns)
        (q,) = lapack.run(
            lapack.routine("householder_product", m, m, k),
            [np.concatenate([factors[..., :k], np.zeros((2, m, m - k), dtype)], -1), taus],
        )
        for left in (True, False):
            c = random(2, *((m, 7) if left else (7, m)), dtype=dtype)
            for transpose in (True, False):
                sizes = (*c.shape[1:], columns, k, left, transpose)
                (found,) = run("ormqr", sizes, [factors, taus, c], [(c.shape[1:], dtype)])
                factor = adjoint(q) if transpose else q
                close(found, factor @ c if left else c @ factor, dtype, m)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", FORMS)
def test_forms_of_general_matrices(n, dtype):
    for batch in BATCHES:
        x = random(*batch, n, n, dtype=dtype)
        form, vectors = run("schur", (n, True), [x], [((n, n), dtype)] * 2)
        close(vectors @ form @ adjoint(vectors), x, dtype, n)
        (alone,) = run("schur", (n, False), [x], [((n, n), dtype)])
        close(
            np.sort_complex(np.linalg.eigvals(alone)),
            np.sort_complex(np.linalg.eigvals(x)),
            dtype,
            99 * n,
        )
        assert not np.tril(form, -2).any()
        wide = np.result_type(dtype, np.complex64)
        values, left, right = run(
            "eig", (n, True, True), [x], [((n,), wide), ((n, n), wide), ((n, n), wide)]
        )
        close(x @ right, right * values[..., None, :], dtype, 9 * n)
        close(adjoint(x) @ left, left * values[..., None, :].conj(), dtype, 9 * n)
        (only,) = run("eig", (n, False, False), [x], [((n,), wide)])
        close(np.sort_complex(only), np.sort_complex(values), dtype, 9 * n)
        reduced, _ = run("hessenberg", (n,), [x], [((n, n), dtype), ((n - 1,), dtype)])
        close(np.trace(reduced, axis1=-2, axis2=-1), np.trace(x, axis1=-2, axis2=-1), dtype, n)
        symmetric = x + adjoint(x)
        for lower in (True, False):
            shapes = [
                ((n, n), dtype),
                ((n,), real(dtype)),
                ((n - 1,), real(dtype)),
                ((n - 1,), dtype),
            ]
            _, d, e, _ = run("tridiagonal", (n, lower), [symmetric], shapes)
            whole = np.zeros(x.shape, real(dtype))
            i = np.arange(n)
            whole[..., i, i] = d
            whole[..., i[1:], i[:-1]] = whole[..., i[:-1], i[1:]] = e
            close(np.linalg.eigvalsh(whole), np.linalg.eigvalsh(symmetric), dtype, 9 * n)


def test_what_has_no_eigenvalues_is_nan():
    x = np.stack([np.eye(3), np.full((3, 3), np.inf), np.eye(3)])
    for name, options in (("eig", (3, True, True)), ("schur", (3, True))):
        for found in lapack.run(lapack.routine(name, *options), [x]):
            assert np.isnan(found[1]).all() and np.isfinite(found[::2]).all()
