"""Small programs that are computed as large ones are otherwise: run where thresholds are lowered.

`test_thresholds.py` runs this file in a process with `JITNEY_SMALL_THRESHOLDS=1`. Operands are small
whole numbers: sums and products are exact in any order.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.hlo.test_contractions import CASES
from tests.fuzz.differential import compare, corpus, generate, run
from tests.helpers.oracle import of_jax
from tests.helpers.recorded_outcomes import use_recorded_outcomes

import jitney
from jitney.core.util import thresholds

jnp = jitney.numpy
DTYPES = ["float32", "float64", "complex64", jnp.bfloat16]
# Below, at and above the low thresholds, most of which are 8, 16 and 32.
SIZES = (1, 3, 8, 17, 33, 70)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    use_recorded_outcomes(monkeypatch)
    assert thresholds.ARE_SMALL
    with jitney.enable_x64(True):
        yield
    jitney.config.update("jax_enable_x64", False)


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng([seed, *shape])
    x = np.asarray(rng.integers(-3, 4, shape)).astype(np.float32)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * np.asarray(rng.integers(-3, 4, shape))
    return np.asarray(x).astype(dtype)


def exact(x):
    """`x` as the widest dtype of its kind."""
    x = np.asarray(x)
    if x.dtype.kind in "biu":
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


# --- layouts of operands: an array in memory, and how it is seen ----------------------------------

LAYOUTS = {
    "plain": (lambda shape: shape, lambda xp, x: x),
    "transposed": (lambda shape: shape[::-1], lambda xp, x: x.T),
    "broadcast": (lambda shape: (1, *shape[1:]), None),
    "broadcast at the end": (lambda shape: (*shape[:-1], 1), None),
    "reversed": (lambda shape: shape, lambda xp, x: xp.flip(x, -1)),
    "strided": (
        lambda shape: tuple(2 * n for n in shape), lambda xp, x: x[(slice(None, None, 2),) * x.ndim]
    ),
    "sliced": (
        lambda shape: tuple(n + 3 for n in shape),
        lambda xp, x: x[tuple(slice(1, n - 2) for n in x.shape)],
    ),
    "computed": (lambda shape: shape, lambda xp, x: x + x),
}  # fmt: skip


def seen(layout, shape, dtype, seed=1):
    """Returns an array and the function (xp, x) that gives a view of it of that shape."""
    stored, view = LAYOUTS[layout]
    if view is None:
        return numbers(stored(shape), dtype, seed), lambda xp, x: xp.broadcast_to(x, shape)
    return numbers(stored(shape), dtype, seed), view


# --- operations: of (xp, x), x of two axes; those of jnp are those of np ----------------------------

OPERATIONS = {
    "sum": lambda xp, x: xp.sum(x),
    "sum of columns": lambda xp, x: xp.sum(x, 0),
    "sum of rows": lambda xp, x: xp.sum(x, 1),
    "largest": lambda xp, x: (x.real.max(0), x.real.min(1), x.real.max()),
    "where largest": lambda xp, x: (xp.argmax(x.real, 0), xp.argmin(x.real, 1), xp.argmax(x.real)),
    "any": lambda xp, x: (xp.any(x == 3, 0), xp.all(x < 9, 1)),
    "rows less their sums": lambda xp, x: x - xp.sum(x, 1, keepdims=True),
    "columns less their sums": lambda xp, x: x * xp.sum(x, 0) + 1,
    "two sums": lambda xp, x: (xp.sum(x * x, 1), xp.sum(x, 1), xp.sum(x + 1, 0)),
    "running": lambda xp, x: (xp.cumsum(x, 0), xp.cumsum(x, 1)),
    "sorted": lambda xp, x: (xp.sort(x, 0), xp.sort(x, 1)),
    "in order": lambda xp, x: (
        xp.argsort(x.real, 0, stable=True), xp.argsort(-x.real, 1, stable=True),
    ),
    "sorted flat": lambda xp, x: xp.sort(x.ravel()),
    "where": lambda xp, x: xp.where(x.real > 0, x, -x),
    "joined": lambda xp, x: xp.concatenate([x, x[:1], x[::-1]], 0),
    "joined at the end": lambda xp, x: xp.concatenate([x, x[:, ::-1], x[:, :1]], 1),
    "turned": lambda xp, x: x.T + 1,
    "turned neighbours": lambda xp, x: (x.T[:-1] + x.T[1:], x.T[:-1].real + x.T[1:].imag),
    "gathered rows": lambda xp, x: x[np.arange(3 * len(x)) * 7 % len(x)],
    "gathered": lambda xp, x: x[np.arange(len(x)) * 5 % len(x), np.arange(len(x)) % x.shape[1]],
    "rolled": lambda xp, x: xp.roll(x, (1, -2), (0, 1)),
    "folded": lambda xp, x: xp.convolve(x.ravel()[:40], x[:, 0]),
    "with its transpose": lambda xp, x: x @ x.T,
    "transposed with itself": lambda xp, x: x.T @ x,
    "with a row": lambda xp, x: (x @ x[0], x[:, 0] @ x),
    "products in a chain": lambda xp, x: (x @ x.T) @ (x + 1),
    "layers": lambda xp, x: xp.maximum((xp.maximum((x @ x.T).real, 0) @ x.real), 0).sum(0),
    "outer": lambda xp, x: (xp.outer(x[0], x[:, 0]), xp.kron(x[0], x[:2])),
    "transform": lambda xp, x: xp.fft.fft(x),
    "transforms": lambda xp, x: xp.fft.fft2(x),
    "transform along the first": lambda xp, x: xp.fft.ifft(x, axis=0),
    "real transform": lambda xp, x: xp.fft.irfft(xp.fft.rfft(x.real), x.shape[1]),
    "exponentials": lambda xp, x: xp.exp(x - x.real.max(1, keepdims=True)).sum(1),
    "softmax": lambda xp, x: xp.exp(x) / xp.exp(x).sum(1, keepdims=True),
    "normalized": lambda xp, x: (x - x.mean(1, keepdims=True)) / (1 + x.std(1, keepdims=True)),
    "trigonometric": lambda xp, x: xp.sin(x) * xp.cos(x) + xp.tanh(x),
    "diagonal": lambda xp, x: xp.trace(x) + xp.triu(x).sum() + xp.diff(x).sum(),
    "padded": lambda xp, x: xp.pad(x, ((1, 2), (0, 3))),
    "power": lambda xp, x: x**3,
}  # fmt: skip
INEXACT = {
    "transform", "transforms", "transform along the first", "real transform", "exponentials", "softmax",
    "normalized", "trigonometric", "folded",
}  # fmt: skip
NOT_HALF = {"transform", "transforms", "transform along the first", "real transform"}
SHAPES = [(8, 17), (17, 8), (1, 33), (33, 1), (3, 70), (70, 3), (16, 16), (33, 34)]


def outcomes(name, layout, shape, dtype):
    """Returns what the operation gives compiled, eagerly, and by NumPy, as lists."""
    x, view = seen(layout, shape, dtype)
    operation = OPERATIONS[name]

    def f(x):
        out = operation(jnp, view(jnp, x))
        return list(out) if isinstance(out, tuple) else [out]

    want = operation(np, view(np, exact(x)))
    return jitney.jit(f)(x), f(jnp.asarray(x)), list(want) if isinstance(want, tuple) else [want]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, dtype):
    half = np.dtype(dtype).itemsize == 2
    if half and name in NOT_HALF:
        pytest.skip("has no such dtype")
    wrong = []
    layouts = list(LAYOUTS)
    turn = DTYPES.index(dtype) + list(OPERATIONS).index(name)
    for k in range(turn % 2, len(SHAPES), 2):  # all pairs of shapes and layouts take their turns
        shape, layout = SHAPES[k], layouts[(k // 2 + turn) % len(layouts)]
        compiled, eager, want = outcomes(name, layout, shape, dtype)
        for way, got in (("compiled", compiled), ("eager", eager)):
            for y, z in zip(got, want, strict=True):
                if y.shape != z.shape or not _agree(y, z, dtype, name in INEXACT, half):
                    wrong.append((way, layout, shape))
    assert not wrong


def _agree(y, z, dtype, is_inexact, half):
    y = exact(y)
    if half:  # each step rounds
        return np.allclose(y, z, rtol=0.05, atol=0.05 * max(np.abs(z).max(initial=0), 1))
    if is_inexact or np.dtype(dtype).kind == "c":
        bound = 2e-6 if np.dtype(dtype).name in ("float32", "complex64") else 1e-12
        return np.allclose(
            y, z, rtol=20 * bound, atol=20 * bound * max(np.abs(z).max(initial=0), 1)
        )
    return np.array_equal(y, z)


# --- contractions: their operands in all layouts ----------------------------------------------------


def _smaller(n):
    """An extent of a large contraction as a small one."""
    return n if n <= 5 else 24 if n > 10_000 else 5 + n % 14 if n < 100 else 17 + n % 3


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_contractions(case, dtype):
    subscripts, *large = case
    shapes = [tuple(map(_smaller, shape)) for shape in large]
    layouts = ("plain", "transposed", "broadcast", "strided", "computed", "reversed")
    turn = DTYPES.index(dtype) + list(CASES.values()).index(case)
    for k in range(turn % 2, len(layouts), 2):
        layout, other = layouts[k], layouts[(k * 5 + 1 + turn) % len(layouts)]
        given = [
            seen(each if shape else "plain", shape, dtype, k)
            for each, shape in zip((layout, other), shapes, strict=True)
        ]
        xs, views = zip(*given, strict=True)

        def f(*xs, views=views):
            return jnp.einsum(subscripts, *[v(jnp, x) for v, x in zip(views, xs, strict=True)])

        operands = [v(np, exact(x)) for v, x in zip(views, xs, strict=True)]
        want = np.einsum(subscripts, *operands, optimize=True)
        for got in (jitney.jit(f)(*xs), f(*map(jnp.asarray, xs))):
            np.testing.assert_array_equal(got, want.astype(dtype), err_msg=f"{layout}, {other}")
        if np.dtype(dtype) != np.float32:
            continue
        ct = numbers(want.shape, dtype, 7)
        got = jitney.jit(lambda ct, *xs, f=f: jitney.vjp(f, *xs)[1](ct))(ct, *xs)
        slow = jitney.vjp(f, *map(jnp.asarray, xs))[1](jnp.asarray(ct))
        for a, b in zip(got, slow, strict=True):
            np.testing.assert_array_equal(a, b)


# --- operations of several operands, loops, factorizations ------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("n", SIZES)
def test_scatters(n, dtype):
    x, updates = numbers((9, 5), dtype), numbers((n, 5), dtype, 2)
    at = np.arange(n) * 5 % 9
    want = exact(x)
    np.add.at(want, at, exact(updates))

    def f(x, at, updates):
        return x.at[at].add(updates), jitney.ops.segment_sum(updates, at, 9)

    for got in (jitney.jit(f)(x, at, updates), f(*map(jnp.asarray, (x, at, updates)))):
        np.testing.assert_array_equal(exact(got[0]), want)
        np.testing.assert_array_equal(exact(got[1]), want - exact(x))
    put = np.zeros((9, 5), dtype)
    put[at] = numbers((5,), dtype)
    set_rows = jitney.jit(lambda at, row: jnp.zeros((9, 5), dtype).at[at].set(row))
    np.testing.assert_array_equal(set_rows(at, numbers((5,), dtype)), put)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("n", SIZES)
def test_loops(n, dtype):
    matrix = np.eye(n, k=1).astype(dtype) + np.eye(n, k=-1).astype(dtype)
    xs = numbers((6, n), dtype)

    def f(matrix, xs):
        def step(carry, x):
            carry = matrix @ x + jnp.flip(carry)
            return carry, (carry.sum(), x * 2, x @ matrix)

        return jitney.lax.scan(step, xs[0], xs)

    def plain(matrix, xs):
        carry, out = xs[0], []
        for x in xs:
            carry = matrix @ x + np.flip(carry)
            out.append((carry.sum(), x * 2, x @ matrix))
        return carry, tuple(map(np.array, zip(*out, strict=True)))

    want = plain(exact(matrix), exact(xs))
    for got in (jitney.jit(f)(matrix, xs), f(jnp.asarray(matrix), jnp.asarray(xs))):
        for a, b in zip(jitney.tree.leaves(got), jitney.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(exact(a), b)


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize("n", [1, 3, 8, 33])
@pytest.mark.parametrize("batch", [(), (5,)])
def test_factorizations(n, batch, dtype):
    a = numbers((*batch, n, n), dtype) + 4 * n * np.eye(n, dtype=dtype)
    b = numbers((*batch, n, 2), dtype)
    square = a @ a.conj().swapaxes(-1, -2)

    def f(a, b, square):
        q, r = jnp.linalg.qr(a)
        values, vectors = jnp.linalg.eigh(square)
        lower = jnp.linalg.cholesky(square)
        u, s, vh = jnp.linalg.svd(b, full_matrices=False)
        triangular = jitney.scipy.linalg.solve_triangular
        return (
            q @ r - a, jnp.linalg.solve(a, b),
            (vectors * values[..., None, :]) @ vectors.conj().mT - square,
            lower @ lower.conj().mT - square, (u * s[..., None, :]) @ vh - b,
            jnp.linalg.inv(a) @ a - np.eye(n),
            lower @ triangular(lower, b, lower=True) - b, jnp.linalg.slogdet(a)[1],
        )  # fmt: skip

    zero = np.zeros((), dtype)
    want = [zero, np.linalg.solve(a, b), zero, zero, zero, zero, zero, np.linalg.slogdet(a)[1]]
    bound = 2e-4 if a.dtype.name in ("float32", "complex64") else 1e-11
    for got in (jitney.jit(f)(a, b, square), f(*map(jnp.asarray, (a, b, square)))):
        for k, (x, y) in enumerate(zip(got, want, strict=True)):
            scale = np.abs(square).max() if k in (2, 3) else 1 + n
            want_all = np.broadcast_to(y, x.shape)
            np.testing.assert_allclose(x, want_all, atol=bound * scale, err_msg=str(k))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "bfloat16"])
def test_orders(dtype):
    for n in SIZES:
        x = numbers((3, n), dtype)
        keys, k = numbers((3, n), "int32", 4), min(n, 6)
        order = np.argsort(-exact(x), -1, kind="stable")[:, :k]

        def f(x, keys, k=k):
            top, where = jitney.lax.top_k(x, k)
            by_two = jitney.lax.sort((keys, x, jnp.arange(x.size).reshape(x.shape)), num_keys=2)
            flat = jnp.sort(x.ravel())
            return top, where, by_two[2], jnp.searchsorted(flat, x), jnp.isin(x, x[0])

        pairs = [np.lexsort((exact(row), key)) + 0 for row, key in zip(x, keys, strict=True)]
        want = (
            np.take_along_axis(x, order, -1), order, np.stack(pairs) + n * np.arange(3)[:, None],
            np.searchsorted(np.sort(exact(x).ravel()), exact(x)), np.isin(exact(x), exact(x)[0]),
        )  # fmt: skip
        for got in (jitney.jit(f)(x, keys), f(jnp.asarray(x), jnp.asarray(keys))):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(exact(a), exact(b), err_msg=str(n))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_convolutions(dtype):
    for shape, window, options in (
        ((2, 3, 17), (4, 3, 5), ((1,), "SAME")),
        ((1, 1, 33), (1, 1, 9), ((2,), "VALID")),
        ((3, 2, 8, 9), (5, 2, 3, 2), ((1, 2), "SAME")),
        ((1, 4, 1, 16), (4, 4, 1, 3), ((1, 1), "VALID")),
    ):
        x, w = numbers(shape, dtype), numbers(window, dtype, 2)

        def f(x, w, options=options):
            return jitney.lax.conv_general_dilated(x, w, *options)

        def reference(j, x, w, options=options):
            out, pull = j.vjp(lambda x, w: j.lax.conv_general_dilated(x, w, *options), x, w)
            return out, pull(out)

        want, pulled = of_jax(reference, exact(x), exact(w), x64=True)
        want = np.asarray(want)
        for apply in (lambda f: f, jitney.jit):
            got = apply(f)(x, w)
            np.testing.assert_array_equal(exact(got), exact(want.astype(dtype)))
            if np.dtype(dtype).itemsize > 2:
                back = apply(lambda x, w, ct, f=f: jitney.vjp(f, x, w)[1](ct))(x, w, got)
                for a, b in zip(back, pulled, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-5)


DRAWS = {
    "bits": lambda j, key, n: j.random.bits(key, (n,)),
    "normal": lambda j, key, n: j.random.normal(key, (n,), "float32"),
    "uniform": lambda j, key, n: j.random.uniform(key, (n, 3), "float64"),
    "randint": lambda j, key, n: j.random.randint(key, (n,), 0, 10),
    "gamma": lambda j, key, n: j.random.gamma(key, 0.7, (n,), "float32"),
    "poisson": lambda j, key, n: j.random.poisson(key, 4.0, (n,)),
    "permutation": lambda j, key, n: j.random.permutation(key, n),
    "split": lambda j, key, n: j.random.key_data(j.random.split(key, n)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers(name):
    draw, n = DRAWS[name], 33
    want = of_jax(lambda j: draw(j, j.random.key(n), n), x64=True)
    for apply in (lambda f: f, jitney.jit):
        got = apply(lambda key: draw(jitney, key, n))(jitney.random.key(n))
        np.testing.assert_allclose(got, want, rtol=2e-5)


def test_attention():
    for shape in ((1, 3, 1, 2), (2, 33, 2, 4)):
        q, k, v = (numbers(shape, "float32", seed) / 4 for seed in range(3))
        for causal in (False, True):
            want = of_jax(
                lambda j, q, k, v, causal=causal: j.nn.dot_product_attention(q, k, v, is_causal=causal),
                *map(exact, (q, k, v)), x64=True,
            )  # fmt: skip
            for apply in (lambda f: f, jitney.jit):
                f = apply(lambda *xs, c=causal: jitney.nn.dot_product_attention(*xs, is_causal=c))
                np.testing.assert_allclose(f(q, k, v), want, rtol=2e-5, atol=2e-6)


# --- programs of the fuzzer -------------------------------------------------------------------------


@pytest.mark.parametrize("file", corpus.files(), ids=lambda file: file.stem)
def test_corpus(file):
    source = file.read_text()
    found = corpus.outcome(source)
    assert not found or source.startswith("# Expected")


def test_random_programs():
    wrong = []
    for seed in range(40):
        program = generate.program(seed)
        fast, slow = run.compiled_and_interpreted(program.body())
        found = compare.check(program, fast, slow, run.eager(program.body()), None)
        if found:
            wrong.append(f"seed {seed}: {found}")
    assert not wrong, "\n".join(wrong)
