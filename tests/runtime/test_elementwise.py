"""Eager operations on arrays so large that threads share them compute what NumPy computes."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.compiler.scalar_functions import rows
from jitney.runtime.arrays import elementwise, host_path

# The ufuncs that are reference implementations as they are.
UFUNCS = [
    u for row in rows() if isinstance(u := getattr(np, row.reference.__name__, None), np.ufunc)
]
SHAPE = (400, 401)  # no multiple of a chunk, nor of a vector
RNG = np.random.default_rng(0)


def _operands(ufunc, dtype, shapes):
    return tuple([np.asarray(3 * RNG.normal(size=shape)).astype(dtype) for shape in shapes])


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.filterwarnings("ignore")
def test_threads_keep_the_bits(ufunc, dtype):
    choices = [[SHAPE] * ufunc.nin, [SHAPE, ()][: ufunc.nin], [(), SHAPE][-ufunc.nin :]]
    for shapes in choices:
        xs = _operands(ufunc, dtype, shapes)
        try:
            expected = ufunc(*xs)
        except TypeError:
            with pytest.raises(TypeError):
                elementwise.apply_ufunc(ufunc, xs)
            continue
        found = elementwise.apply_ufunc(ufunc, xs)
        assert found is not None and (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(found, expected)


def test_what_numpy_has_to_do():
    x = np.ones(SHAPE)
    assert elementwise.apply_ufunc(np.add, (x.T, x.T)) is None  # not contiguous
    assert elementwise.apply_ufunc(np.add, (x, x[0])) is None  # broadcast
    assert elementwise.apply_ufunc(np.add, (x.reshape(1, *SHAPE), x)) is None
    assert elementwise.apply_ufunc(np.add, (x.reshape(-1), np.ones((1, 1)))) is None
    assert elementwise.apply_ufunc(np.divmod, (x, x)) is None


def _pairs():
    x = np.arange(1, 160_401, dtype=np.int32).reshape(SHAPE)
    yield np.add, x, x.astype(np.float32)
    yield np.add, x.astype(">f8"), x.astype(">f8")
    yield np.power, x, np.array(3, np.int32)
    yield np.multiply, np.broadcast_to(np.array(7, np.int32), SHAPE), x
    yield np.bitwise_xor, x > 7, x % 2 == 0
    yield np.add, x.astype(jnp.bfloat16), np.ones((1, 1), jnp.bfloat16)


@pytest.mark.parametrize("ufunc, x, y", list(_pairs()))
def test_types_of_all_kinds(ufunc, x, y):
    found = elementwise.apply_ufunc(ufunc, (x, y))
    expected = ufunc(x, y)
    assert found is not None and found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_what_numpy_raises_in_another_thread_is_raised():
    x = np.ones(SHAPE, np.int32)
    with pytest.raises(ValueError, match="negative integer powers"):
        elementwise.apply_ufunc(np.power, (x, -x))


def test_floating_point_errors_are_silent_in_all_threads():
    x = np.zeros(1 << 18, np.float32)
    with np.errstate(all="raise"):
        found = elementwise.apply_ufunc(np.divide, (x, x))
    assert found is not None and np.isnan(found).all()


def test_loops_of_python_functions_cover_each_index_once():
    counts = np.zeros(1000, int)

    def body(begin, end):
        counts[begin:end] += 1

    host_path.threads().parallel_for(body, 1000, 7)
    assert (counts == 1).all()


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
@pytest.mark.parametrize("repeated", [(False, False), (True, False), (False, True), (True, True)])
def test_threads_select_from_arrays_and_repeated_scalars(dtype, repeated):
    n = 3 << 16
    mask = np.arange(n) % 3 == 0
    values = np.arange(n) // 3  # without the period of a part, in any dtype
    cases = [values.astype(dtype), values[::-1].astype(dtype)]
    x, y = (np.broadcast_to(c[5], n) if r else c for c, r in zip(cases, repeated, strict=True))
    found = host_path.threads().select(mask, x, y)
    np.testing.assert_array_equal(found, np.where(mask, x, y))


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
