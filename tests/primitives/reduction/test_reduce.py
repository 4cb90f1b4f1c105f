"""Reductions and cumulative reductions: values, dtypes and errors are JAX's."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import jax, of_jax
from tests.primitives.side_by_side import DTYPES, FLOATS, INTEGERS, check, sample

import jitney
import jitney.numpy as jnp
from jitney import lax


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


@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (6,), (7,), (3, 3), (0,)])
@pytest.mark.parametrize("name", ["max", "min"])
def test_derivatives_of_folds_are_shared_among_equal_extremes(name, shape):
    x = np.resize(np.array([1.0, 1.0, 2.0, 1.0, 2.0], np.float32), shape)
    init = np.float32(np.inf if name == "min" else -np.inf)

    def gradient(library, y):
        combine = getattr(library.lax, name)

        def fold(y):
            # A lambda is not known to be an extreme: else it were reduce_max.
            axes = tuple(range(y.ndim))
            return library.lax.reduce(y, init, lambda p, q: combine(p, q), axes)

        return library.grad(fold)(y)

    for y in (x, np.ones_like(x)):
        np.testing.assert_array_equal(gradient(jitney, y), of_jax(gradient, y))


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
                    getattr(m, name)(x, a, r)
                    if m is lax
                    else getattr(m, name)(jax.numpy.asarray(x), a, r)
                ),
                x,
                exact=False,
            )


@pytest.mark.parametrize("dtype", [*FLOATS, np.complex64])
def test_running_log_sum_exp(dtype):
    x = sample(dtype, (6, 3), dtype is np.float32)
    check(lambda m, x: m.cumlogsumexp(x if m is lax else jax.numpy.asarray(x)), x, exact=False)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_running_log_sum_exp_has_principal_values(n):
    x = np.array([1 + 4j, 2 + 9j, -0.3 - 4j, 7.5j, 0.5], np.complex64)[:n]
    for reverse in (False, True):
        check(
            lambda m, x, r=reverse: m.cumlogsumexp(
                x if m is lax else jax.numpy.asarray(x), reverse=r
            ),
            x,
            exact=False,
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_signs_of_zeros_in_extremes(name, dtype):
    """Of zeros of both signs, the greater one is 0.0, wherever it stands."""
    with jitney.enable_x64():
        for zeros in ([-0.0, 0.0, 0.0], [0.0, -0.0], [0.0, 0.0, -0.0, 0.0], [-0.0, -0.0]):
            x = jnp.asarray(np.array([zeros] * 3, dtype))
            signs = [np.signbit(z) for z in zeros]
            f = getattr(jitney.numpy, name)
            for got in (f(x, axis=1), jitney.jit(f, static_argnums=1)(x, 1), f(x)):
                signed = np.signbit(np.asarray(got).astype("float32"))
                assert (signed == (all(signs) if name == "max" else any(signs))).all()


def best(a, b):
    """The larger of two (value, index)."""
    first = a[0] >= b[0]
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_folds_are_native_loops(axes):
    x = np.random.default_rng(0).normal(size=(3, 5, 7)).astype(np.float32)
    index = np.arange(x.size, dtype=np.int32).reshape(x.shape)

    def f(x, index):
        damped = jitney.lax.reduce(x, np.float32(1), lambda a, b: a * np.float32(0.5) + b, axes)
        return damped, *jitney.lax.reduce(
            (x, index), (np.float32(-np.inf), np.int32(-1)), best, axes
        )

    compiled = jitney.jit(f)
    assert "_call " not in compiled.lower(x, index).as_text("kernels")
    damped, value, place = compiled(x, index)
    np.testing.assert_array_equal(value, x.max(axes))
    np.testing.assert_array_equal(x.reshape(-1)[np.asarray(place)], x.max(axes))
    rows = np.moveaxis(x, axes, range(len(axes))).reshape(-1, *damped.shape)
    total = np.ones(damped.shape, np.float32)
    for row in rows:  # in row-major order
        total = total * np.float32(0.5) + row
    np.testing.assert_allclose(damped, total, rtol=1e-6, atol=1e-6)


def test_sums_of_16_bits_can_be_refused():
    x = jnp.ones((1, 3), "bfloat16")
    assert jitney.lax.reduce_sum(x, (1,)) == 3
    with jitney.allow_f16_reductions(False):
        jitney.lax.reduce_sum(x, (0,))
        jitney.lax.reduce_sum(x.astype("float32"), (1,))
        for f in (jitney.lax.reduce_sum, jitney.jit(jitney.lax.reduce_sum, static_argnums=1)):
            with pytest.raises(ValueError, match=r"reduce_sum of bfloat16\[1,3\].*not allowed"):
                f(x, (1,))
