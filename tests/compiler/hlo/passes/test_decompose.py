"""Operations that are written with others: the bits of NumPy's, over dtypes and special values."""

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.hlo import interpret
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.passes import decompose
from jitney.compiler.hlo.verify import verify

DTYPES = [
    np.dtype(d)
    for d in (
        "bool", "int8", "int32", "uint8", "uint64", "float16", ml_dtypes.bfloat16, "float32", "float64"
    )
]  # fmt: skip
FOLDED = [*DTYPES, *[np.dtype(d) for d in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn)]]
SHAPES = [
    ((), None),
    ((1,), 0),
    ((7,), 0),
    ((40,), 0),
    ((3, 5), 0),
    ((3, 5), 1),
    ((2, 9, 3), 1),
    ((0, 4), 1),
]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.0, 3.0, 1e-30]


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if dtype.kind in "fV":
        x = rng.choice(SPECIAL if seed % 2 else SPECIAL[:4] + [2.0, 3.0], shape)
    else:
        x = rng.integers(0, 4, shape) if dtype.kind in "ub" else rng.integers(-4, 4, shape)
    return np.asarray(x).astype(dtype)


def both(make, *xs):
    """Results of a program of one operation on `xs`, as it is and expanded."""
    b = Builder()
    parameters = [b.parameter(i, TensorType(x.shape, x.dtype)) for i, x in enumerate(xs)]
    made = make(b, *parameters)
    module = b.module("f", parameters, made if isinstance(made, list) else [made])
    written = decompose.run(module)
    verify(written)
    assert not decompose.is_needed(written.region)
    with np.errstate(all="ignore"):
        return interpret.run(module, xs), interpret.run(written, xs)


def assert_same(x, y, signs=True):
    """Fails unless `x` is `y`, to the sign of zeros if `signs`: NaN as NaN."""
    assert x.dtype == y.dtype and x.shape == y.shape
    wide = np.float64 if x.dtype.kind in "fV" else x.dtype
    x, y = x.astype(wide), y.astype(wide)
    np.testing.assert_array_equal(x, y)
    if signs and wide is np.float64:
        number = ~np.isnan(x)
        np.testing.assert_array_equal(np.signbit(x[number]), np.signbit(y[number]))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", FOLDED, ids=str)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_arg_reduce(kind, dtype, seed):
    for shape, dim in SHAPES[1:]:
        x = values(dtype, shape, seed)
        (a,), (b,) = both(lambda b, p, dim=dim: b.arg_reduce(p, kind, dim, np.int32), x)
        assert_same(a, b)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", FOLDED, ids=str)
@pytest.mark.parametrize("fn", ["add", "mul", "max", "min"])
def test_cumulative(fn, dtype, seed):
    if dtype == np.bool_ and fn in ("add", "mul"):
        return  # which are integers by then
    for shape, dim in SHAPES[1:]:
        for reverse in (False, True):
            x = values(dtype, shape, seed)
            (a,), (b,) = both(
                lambda b, p, dim=dim, reverse=reverse: b.cumulative(p, fn, dim, reverse), x
            )
            # Which of two zeros is larger is left open.
            assert_same(a, b, signs=fn in ("add", "mul"))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort(dtype, seed):
    for shape, dim in SHAPES[1:]:
        x, y = values(dtype, shape, seed), values(np.dtype("float32"), shape, seed + 2)
        places = np.arange(x.size, dtype=np.int32).reshape(shape)
        for a, b in zip(*both(lambda b, p, dim=dim: b.sort([p], dim, 1, True), x), strict=True):
            assert_same(a, b, signs=False)
        for keys in (1, 2):
            pairs = both(
                lambda b, *ps, dim=dim, keys=keys: b.sort(ps, dim, keys, True), x, y, places
            )
            for a, b in zip(*pairs, strict=True):
                assert_same(a, b)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_top_k(dtype, seed):
    for shape, dim in SHAPES[1:]:
        x = values(dtype, shape, seed)
        for k in {1, shape[dim], (shape[dim] + 1) // 2} - {0}:
            for a, b in zip(*both(lambda b, p, dim=dim, k=k: b.top_k(p, k, dim), x), strict=True):
                assert_same(a, b)


def test_what_is_sorted_by_native_code():
    x, z = jnp.zeros(200), jnp.zeros(8, "complex64")
    for function, operand, called in (
        (jnp.argsort, x, "sort"), (jnp.sort, z, "sort"), (jnp.sort, x.astype("bfloat16"), "sort"),
        (lambda x: lax.top_k(x, 3), x, "top_k"), (jnp.sort, x, "sort"),
        (jnp.sort, jnp.zeros((20, 200)), "reference.sort"),
    ):  # fmt: skip
        text = jitney.jit(function).lower(operand).as_text("kernels")
        assert f"library_call {called}" in text


def test_compiled_programs_call_no_python():
    x = jnp.linspace(-1.0, 1.0, 30)

    def f(x):
        y = jnp.cumsum(x), jnp.cumprod(x), lax.cummax(x), lax.cummin(x, reverse=True)
        ordered = jnp.sort(x), jnp.argsort(-x), lax.top_k(x, 4), jnp.median(x)
        return y, ordered, jnp.argmax(x), jnp.argmin(x), lax.cumlogsumexp(x)

    assert "_call " not in jitney.jit(f).lower(x).as_text("kernels")
    found = jitney.jit(f)(x)
    with jitney.disable_jit():
        expected = f(x)
    jitney.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6), found, expected
    )


def test_in_loops_and_under_transformations():
    def step(x, _):
        x = jnp.cumsum(x) / (1 + jnp.argmax(x))
        return x / jnp.max(jnp.abs(x)), x

    def run(x):
        return lax.scan(step, x, None, length=20)

    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32))
    rows = [run(row) for row in x]
    for compiled in (jitney.jit(jitney.vmap(run)), jitney.vmap(jitney.jit(run))):
        found = compiled(x)
        for k, row in enumerate(rows):
            jitney.tree.map(
                lambda a, b, k=k: np.testing.assert_allclose(a[k], b, rtol=1e-5, atol=1e-6),
                found,
                row,
            )
    assert "_call " not in jitney.jit(run).lower(x[0]).as_text("kernels")

    def loss(x):
        return jnp.sum(jnp.sin(run(x)[1]) * jnp.arange(6.0))

    with jitney.disable_jit():
        expected = jitney.grad(loss)(x[0])
    np.testing.assert_allclose(jitney.jit(jitney.grad(loss))(x[0]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "subscripts", ["tkh,skh->kts", "gts,sh->tgh", "gts,tgh->sh", "tgs,htg->sh"]
)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_products_of_scattered_axes_are_those_of_matrices(subscripts, dtype):
    sizes = {"t": 40, "k": 3, "h": 48, "s": 56, "g": 2}
    left, right = subscripts.split("->")[0].split(",")
    x, y = (
        np.random.default_rng(0).integers(-3, 4, [sizes[c] for c in axes]).astype(dtype)
        for axes in (left, right)
    )
    call = jitney.jit(lambda x, y: jnp.einsum(subscripts, x, y, preferred_element_type=np.float32))
    want = np.einsum(subscripts, *(v.astype(np.float64) for v in (x, y)))
    np.testing.assert_array_equal(call(x, y), want)
    text = call.lower(x, y).as_text("kernels")
    assert "gemm" in text or "tiles.product" in text
    assert "reference." not in text
