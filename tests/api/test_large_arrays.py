"""Eager operations on arrays so large that threads share them compute what NumPy computes."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.compiler.numerics import scalar
from jitney.runtime.native import _native

SHAPE = (400, 401)  # no multiple of a chunk, nor of a vector
RNG = np.random.default_rng(0)


def _operands(ufunc, dtype, shapes):
    return tuple([np.asarray(3 * RNG.normal(size=shape)).astype(dtype) for shape in shapes])


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("name", scalar.UFUNCS)
@pytest.mark.filterwarnings("ignore")
def test_threads_keep_the_bits(name, dtype):
    ufunc = scalar.UFUNCS[name]
    choices = [[SHAPE] * ufunc.nin, [SHAPE, ()][: ufunc.nin], [(), SHAPE][-ufunc.nin :]]
    for shapes in choices:
        xs = _operands(ufunc, dtype, shapes)
        try:
            expected = ufunc(*xs)
        except TypeError:
            assert _native.apply_ufunc(ufunc, xs) is None
            continue
        found = _native.apply_ufunc(ufunc, xs)
        assert found is not None and (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)


def test_what_numpy_has_to_do():
    x = np.ones(SHAPE)
    assert _native.apply_ufunc(np.add, (x.T, x.T)) is None  # not contiguous
    assert _native.apply_ufunc(np.add, (x, x[0])) is None  # broadcast
    assert _native.apply_ufunc(np.add, (x, x.astype("f"))) is None  # two types
    assert _native.apply_ufunc(np.power, (x.astype(int), x.astype(int))) is None  # may raise
    assert _native.apply_ufunc(np.add, (x.reshape(1, *SHAPE), x)) is None
    assert _native.apply_ufunc(np.divmod, (x, x)) is None
    assert _native.apply_ufunc(np.add, (x.astype(">f8"), x.astype(">f8"))) is None


def test_large_and_small_arrays_agree():
    x = jnp.asarray(RNG.normal(size=1 << 18).astype(np.float32))
    pieces = np.split(np.asarray(x), 1 << 6)
    for f in (
        jnp.exp,
        jnp.sin,
        lambda x: x * 2.5 - 1,
        lambda x: jnp.where(x > 0, x, -x),
        lambda x: 1 / x,
    ):
        whole = np.asarray(f(x))
        parts = np.concatenate([np.asarray(f(jnp.asarray(p))) for p in pieces])
        np.testing.assert_array_equal(whole, parts)
