"""Reductions, running folds, contractions, sorting: values, dtypes and errors are JAX's."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax as oracle

import jitney
from jitney import lax
from jitney.primitives.random.threefry import threefry2x32

FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int8, np.int32, np.uint8, np.uint32]
DTYPES = [np.bool_, *FLOATS, ml_dtypes.float8_e4m3fn, *INTEGERS, np.complex64]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0]
TOLERANCE = {4: 1e-5, 8: 1e-5, 2: 2e-2, 1: 0.3}


def sample(dtype: type, shape: tuple[int, ...], special: bool = False) -> np.ndarray:
    rng = np.random.default_rng(len(shape) + 3 * special)
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    x = rng.normal(size=shape)
    if special:
        x = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), x)
    if kind.kind != "c":
        return x.astype(dtype)
    out = np.empty(shape, dtype)
    out.real, out.imag = x, rng.normal(size=shape)
    return out


def outcome(fun, module, *args):
    """The leaves of fun(module, *args), or the exception it raises."""
    try:
        out = fun(module, *args)
    except Exception as error:
        return error
    return list(out) if isinstance(out, tuple | list) else [out]


def check(fun, *args, exact: bool = True) -> None:
    """`fun` of either `lax` gives the same on `args`: values, or the type of the error."""
    found, wanted = outcome(fun, lax, *args), outcome(fun, oracle, *args)
    if isinstance(wanted, Exception):
        assert type(found) is type(wanted), (found, wanted)
        return
    assert not isinstance(found, Exception), found
    for x, y in zip(found, wanted, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        a, b = np.asarray(x), np.asarray(y)
        wide = np.complex64 if a.dtype.kind == "c" else np.float64
        tolerance = 0 if exact or a.dtype.kind in "biu" else TOLERANCE[a.dtype.itemsize]
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "and", "or", "xor"])
def test_reductions(name, dtype):
    for shape, axes in [((4, 3), (0,)), ((4, 3), (1, 0)), ((0, 3), (0,)), ((3, 0), (0,)), ((), ())]:
        for special in (False, True):
            x = sample(dtype, shape, special and dtype is not np.complex64)
            check(
                lambda m, x, a=axes: getattr(m, f"reduce_{name}")(x, a), x, exact=name[0] in "maox"
            )


@pytest.mark.parametrize("axes", [(0, 0), (2,), (-1,)])
@pytest.mark.parametrize("dtype", [np.bool_, np.float32])
def test_axes_of_reductions(axes, dtype):
    check(lambda m, x: m.reduce_sum(x, axes), sample(dtype, (4, 3)))
    check(lambda m, x: m.reduce_max(x, axes), sample(dtype, (4, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_extremes(name, dtype):
    for shape in [(4, 3), (0, 3), (3, 0), ()]:
        for index_dtype in (np.int32, np.uint8, np.float32):
            x = sample(dtype, shape, True)
            check(lambda m, x, d=index_dtype: getattr(m, name)(x, 0, d), x)


REDUCTIONS = {
    "sum": lambda m, x: m.reduce(x, 0.0, m.add, (0,)),
    "sum from one": lambda m, x: m.reduce(x, 1.0, m.add, (0, 1)),
    "not associative": lambda m, x: m.reduce(x, 10.0, m.sub, (1,)),
    "pair": lambda m, x: m.reduce(
        (x, x), (0.0, 1.0), lambda p, q: (m.add(p[0], q[0]), m.mul(p[1], q[1])), (0,)
    ),
    "square": lambda m, x: m.reduce(x, 0.0, lambda p, q: m.add(p, m.mul(q, q)), (1,)),
    "no axes": lambda m, x: m.reduce(x, 1.0, m.add, ()),
    "structures": lambda m, x: m.reduce((x, x), (0.0,), m.add, (0,)),
    "dtypes": lambda m, x: m.reduce(x, 1, m.add, (0,)),
    "not scalar": lambda m, x: m.reduce(x, np.zeros(2, np.float32), m.add, (0,)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduce(name):
    check(REDUCTIONS[name], sample(np.float32, (3, 4)), exact=False)


@pytest.mark.parametrize("dtype", DTYPES[:4] + INTEGERS + [np.complex64])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_folds(name, dtype):
    for shape, axis in [((5,), 0), ((4, 3), 1), ((0, 3), 0), ((4, 3), 2), ((4, 3), -1)]:
        for reverse in (False, True):
            x = sample(dtype, shape)
            check(
                lambda m, x, a=axis, r=reverse: (
                    getattr(m, name)(jax.numpy.asarray(x), a, r)
                    if m is oracle
                    else getattr(m, name)(x, a, r)
                ),
                x,
                exact=False,
            )


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64])
def test_running_log_sum_exp(dtype):
    x = sample(dtype, (6, 3), dtype is np.float32)
    check(lambda m, x: m.cumlogsumexp(jax.numpy.asarray(x) if m is oracle else x), x, exact=False)


CONTRACTIONS = [
    ((3, 4), (4, 2), (((1,), (0,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((2, 3, 4), (4, 3, 2), (((1, 2), (1, 0)), ((0,), (2,)))),
    ((3, 0), (0, 2), (((1,), (0,)), ((), ()))),
    ((3, 2), (4,), (((), ()), ((), ()))),
    ((2, 3), (4, 5), (((1,), (0,)), ((), ()))),
    ((2, 3), (3, 5), (((2,), (0,)), ((), ()))),
    ((2, 3), (2, 3), (((1,), (1,)), ((0,), ()))),
    ((2, 2), (2, 2), (((1, 1), (0, 1)), ((), ()))),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dot_general(dtype):
    for left, right, numbers in CONTRACTIONS:
        x, y = sample(dtype, left), sample(dtype, right)
        check(lambda m, x, y, n=numbers: m.dot_general(x, y, n), x, y, exact=False)


@pytest.mark.parametrize("preferred", [np.float32, np.float16, np.int32, np.int8, np.complex64])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.int32, np.bool_])
def test_preferred_element_type(dtype, preferred):
    x, y = sample(dtype, (3, 4)), sample(dtype, (4, 2))
    check(lambda m, x, y: m.dot(x, y, preferred_element_type=preferred), x, y, exact=False)


@pytest.mark.parametrize("other", [np.float16, np.int32, np.bool_, np.complex64])
def test_mixed_products(other):
    x, y = sample(ml_dtypes.bfloat16, (3, 4)), sample(other, (4, 2))
    found, wanted = (jitney.eval_shape(lax.dot, x, y), jax.eval_shape(oracle.dot, x, y))
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize(
    "precision", [None, "highest", ("high", "default"), "BF16_BF16_F32", "TF32_TF32_F32", "no", 3]
)
def test_precision(precision):
    x, y = sample(np.float32, (3, 4)), sample(np.float32, (4, 2))
    check(lambda m, x, y: m.dot(x, y, precision=precision), x, y, exact=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype):
    for shape, axis in [((40,), 0), ((6, 4), 0), ((6, 4), -1), ((0, 3), 1)]:
        x = sample(dtype, shape, True)
        ties = sample(np.int8, shape) % 3
        position = np.arange(x.size, dtype=np.int32).reshape(shape)
        check(lambda m, x, a=axis: m.sort(jax.numpy.asarray(x) if m is oracle else x, a), x)
        for num_keys in (1, 2):
            check(lambda m, *xs, a=axis, n=num_keys: m.sort(xs, a, num_keys=n), ties, x, position)


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k(dtype):
    for shape, axis in [((40,), 0), ((6, 4), 0), ((6, 4), -1)]:
        for k in (0, 1, 3, 4, 41, -1):
            x = sample(dtype, shape, True)
            check(lambda m, x, k=k, a=axis: m.top_k(x, k, axis=a), x)


def test_threefry():
    words = sample(np.uint32, (4, 9000))
    from jax.extend.random import threefry2x32_p

    for x, y in zip(threefry2x32(*words), threefry2x32_p.bind(*words), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_signs_of_zeros_in_extremes(name, dtype):
    """Of zeros of both signs, the greater one is 0.0, wherever it stands."""
    with jitney.enable_x64():
        for zeros in ([-0.0, 0.0, 0.0], [0.0, -0.0], [0.0, 0.0, -0.0, 0.0], [-0.0, -0.0]):
            x = jitney.numpy.asarray(np.array([zeros] * 3, dtype))
            signs = [np.signbit(z) for z in zeros]
            f = getattr(jitney.numpy, name)
            for got in (f(x, axis=1), jitney.jit(f, static_argnums=1)(x, 1), f(x)):
                signed = np.signbit(np.asarray(got).astype("float32"))
                assert (signed == (all(signs) if name == "max" else any(signs))).all()
