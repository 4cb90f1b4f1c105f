"""`top_k`, `minmax` and more that is new in JAX 0.12.0.1, against NumPy and values of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

FLOATS = np.array([[3, 1, np.nan, 2, -0.0, 0.0], [1, 1, 5, -np.inf, np.inf, 2]], "f4")
INTEGERS = np.array([[3, 1, 7, 2, 7, 0], [1, 1, 5, -4, 9, 2]], "i4")
DTYPES = ["int8", "uint8", "int32", "float16", "bfloat16", "float32", "bool"]


def both_ways(f, *args):
    """What f gives, eagerly; a compiled program gives the same bits."""
    eager: Any = f(*args)
    compiled: Any = jitney.jit(f)(*args)
    for a, b in zip(eager, compiled, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return eager


# --- top_k ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_is_a_stable_sort(dtype, mode):
    x = jnp.array(INTEGERS).astype(dtype)
    for axis in (0, 1, -1):
        n = x.shape[axis]
        for k in range(n + 1):
            values, indices = both_ways(lambda x: jnp.top_k(x, k, axis=axis, mode=mode), x)  # noqa: B023
            size = np.asarray(x, float)
            order = np.argsort(size if mode == "smallest" else -size, axis, kind="stable")
            order = np.take(order, range(k), axis)
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(values, np.take_along_axis(np.asarray(x), order, axis))
            assert values.dtype == dtype and indices.dtype == "int32"


def test_special_values_are_ordered_as_in_jax():
    largest = both_ways(lambda x: jnp.top_k(x, 3), FLOATS)
    np.testing.assert_array_equal(largest[0], [[np.nan, 3, 2], [np.inf, 5, 2]])
    np.testing.assert_array_equal(largest[1], [[2, 0, 3], [4, 2, 5]])
    smallest = both_ways(lambda x: jnp.top_k(x, 3, mode="smallest"), FLOATS)
    np.testing.assert_array_equal(smallest[0], [[-0.0, 0, 1], [-np.inf, 1, 1]])
    np.testing.assert_array_equal(smallest[1], [[4, 5, 1], [3, 0, 1]])
    least = np.array([-(2**31), 5, 2**31 - 1], "i4")
    np.testing.assert_array_equal(jnp.top_k(least, 2, mode="smallest")[0], [-(2**31), 5])
    np.testing.assert_array_equal(jnp.top_k(FLOATS, 3, sorted=False)[1], largest[1])
    assert jnp.top_k(FLOATS[:0], 2)[0].shape == (0, 2)


def test_top_k_is_differentiated_and_mapped():
    def f(x):
        return jnp.top_k(x, 2, mode="smallest")[0] @ jnp.array([1.0, 2.0])

    np.testing.assert_array_equal(jitney.grad(f)(jnp.array([3.0, 1.0, 2.0])), [0, 1, 2])
    mapped = jitney.vmap(lambda x: jnp.top_k(x, 1), in_axes=1)(INTEGERS)
    np.testing.assert_array_equal(mapped[0][:, 0], INTEGERS.max(0))
    np.testing.assert_array_equal(mapped[1][:, 0], INTEGERS.argmax(0))


def test_the_program_of_top_k():
    program = str(jitney.make_jaxpr(lambda x: jnp.top_k(x, 3, mode="smallest"))(INTEGERS))
    assert "name=top_k" in program and program.count("= not") == 2


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((FLOATS, 7), {}, ValueError),
        ((FLOATS, -1), {}, ValueError),
        ((FLOATS, 1), {"mode": "least"}, ValueError),
        ((FLOATS, 1), {"axis": 2}, ValueError),
        ((1.0, 1), {}, ValueError),
        ((FLOATS, 1.0), {}, TypeError),
        (([1, 2], 1), {}, TypeError),
        ((FLOATS + 1j, 1), {}, ValueError),
        ((FLOATS + 1j, 1), {"mode": "smallest"}, ValueError),
    ],
)
def test_wrong_uses_of_top_k(arguments, options, error):
    with pytest.raises(error):
        jnp.top_k(*arguments, **options)


def test_stability_is_an_option_of_lax():
    values, indices = jitney.lax.top_k(INTEGERS, 2, is_stable=False)
    np.testing.assert_array_equal(values, [[7, 7], [9, 5]])
    np.testing.assert_array_equal(indices, [[2, 4], [4, 2]])


# --- minmax ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}])
def test_minmax_is_min_and_max(dtype, options):
    x = jnp.array(INTEGERS).astype(dtype)
    low, high = both_ways(lambda x: jnp.minmax(x, **options), x)
    assert low.dtype == high.dtype == dtype
    np.testing.assert_array_equal(low, np.asarray(x).min(**options))
    np.testing.assert_array_equal(high, np.asarray(x).max(**options))


def test_initial_values_of_minmax():
    assert jnp.minmax(INTEGERS, initial=4) == (-4, 9)
    assert jnp.minmax(INTEGERS, initial=(-100, 100)) == (-100, 100)
    assert jnp.minmax(INTEGERS, initial=(None, 100)) == (-4, 100)
    assert jnp.minmax(INTEGERS, where=INTEGERS > 2, initial=(9, 0)) == (3, 9)
    assert jnp.minmax(np.zeros((0, 6)), initial=(1.0, 2.0)) == (1, 2)
    assert np.isnan(jnp.minmax(FLOATS)).all()
    assert jnp.minmax(np.zeros((0, 6)), axis=1)[0].shape == (0,)


def test_minmax_is_differentiated():
    def f(x):
        low, high = jnp.minmax(x)
        return 2 * low + 3 * high

    np.testing.assert_array_equal(jitney.grad(f)(jnp.array([4.0, 1.0, 9.0])), [0, 2, 3])


def test_minmax_takes_one_pass():
    program = jitney.jit(jnp.minmax).lower(np.ones((300, 200), "f4")).as_text("kernels")
    assert program.count("launch") <= 2  # of the array, and of its partial results


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((INTEGERS,), {"where": INTEGERS > 2}, ValueError),
        ((INTEGERS[:0],), {}, ValueError),
        ((INTEGERS,), {"initial": (1, 2, 3)}, ValueError),
        ((INTEGERS,), {"initial": np.array([1, 2])}, ValueError),
        ((INTEGERS,), {"axis": 5}, ValueError),
        ((INTEGERS,), {"out": INTEGERS}, NotImplementedError),
        (([1, 2],), {}, TypeError),
    ],
)
def test_wrong_uses_of_minmax(arguments, options, error):
    with pytest.raises(error):
        jnp.minmax(*arguments, **options)


# --- new parameters -------------------------------------------------------------------------------


def test_lexsort_by_batches_of_keys():
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, 2, 50).astype("i4") for _ in range(9)]
    for batch_size in (1, 2, 4, 16):
        found = jnp.lexsort(keys, batch_size=batch_size)
        np.testing.assert_array_equal(found, np.lexsort(keys))
    program = jitney.make_jaxpr(lambda keys: jnp.lexsort(keys, batch_size=4))(keys)
    assert str(program).count("= sort[") == 3
    keys[3] = keys[3].astype("f4")
    np.testing.assert_array_equal(jnp.lexsort(keys, batch_size=4), np.lexsort(keys))
    with pytest.raises(ValueError, match="batch_size"):
        jnp.lexsort(keys, batch_size=0)


def test_ufuncs_have_reductions_of_slices_of_their_own():
    def reduceat(a, indices, *, axis, dtype):
        return "reduced", a.shape, indices.shape, axis, dtype

    function = jnp.ufunc(jnp.add, 2, 1, reduceat=reduceat)
    found = function.reduceat(np.ones((2, 3)), np.array([0, 1]), -1)
    assert found == ("reduced", (2, 3), (2,), 1, None)
    assert function != jnp.ufunc(jnp.add, 2, 1)


def test_operands_of_special_functions_have_names():
    lax = jitney.lax
    assert lax.igamma(a=2.0, x=3.0) == lax.igamma(2.0, 3.0)
    assert lax.igammac(x=3.0, a=2.0) == lax.igammac(2.0, 3.0)
    assert lax.betainc(a=1.0, b=2.0, x=0.3) == lax.betainc(1.0, 2.0, 0.3)
    assert lax.zeta(x=2.0, q=1.0) == lax.zeta(2.0, 1.0)
    assert lax.polygamma(m=1.0, x=2.0) == lax.polygamma(1.0, 2.0)
    assert lax.nextafter(x1=1.0, x2=2.0) == lax.nextafter(1.0, 2.0)
