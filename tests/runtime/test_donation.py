"""Donated memory: results lie in it where nothing else can see that."""

import gc

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SIZES = (3, 300, 300_000)  # NumPy's memory, the pool's, and pages of the system


def double(x):
    return x * 2 + 1


def fresh(n=300):
    return jnp.array(np.arange(n, dtype=np.float32))


@pytest.mark.parametrize("n", SIZES)
def test_a_result_lies_in_the_memory_of_its_operand(n):
    f = jax.jit(double, donate_argnums=0)
    x, expected = fresh(n), np.arange(n, dtype=np.float32)
    for _ in range(4):  # by Python, then by the signature
        place, given, expected = x.unsafe_buffer_pointer(), x, expected * 2 + 1
        x = f(x)
        assert x.unsafe_buffer_pointer() == place
        assert given.is_deleted()
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    "view", [np.asarray, memoryview, np.from_dlpack, lambda x: np.asarray(x)[1:]]
)
def test_views_keep_their_values(view):
    f = jax.jit(double, donate_argnums=0)
    for _ in range(3):
        x = fresh()
        seen = view(x)
        before = np.array(seen)
        y = f(x)
        assert x.is_deleted()
        np.testing.assert_array_equal(np.asarray(seen), before)
        np.testing.assert_array_equal(y, np.arange(300, dtype=np.float32) * 2 + 1)


def test_arrays_that_share_memory_keep_their_values():
    f = jax.jit(double, donate_argnums=0)
    for _ in range(3):
        x = fresh()
        shared = [x.reshape(30, 10), jax.device_put(x), x.view(jnp.int32)]
        before = [np.array(y) for y in shared]
        f(x)
        for y, expected in zip(shared, before, strict=True):
            if not y.is_deleted():
                np.testing.assert_array_equal(y, expected)


def test_constants_of_programs_keep_their_values():
    x = fresh()
    f = jax.jit(lambda y: x * y)
    g = jax.jit(double, donate_argnums=0)
    expected = np.array(f(x))
    keeps = np.array(x)
    g(x)
    np.testing.assert_array_equal(f(keeps), expected)


def test_numpy_arrays_are_left_alone():
    f = jax.jit(double, donate_argnums=0)
    x = np.arange(300, dtype=np.float32)
    for _ in range(3):
        f(x)
    np.testing.assert_array_equal(x, np.arange(300))


def test_memory_of_a_numpy_array_that_is_referred_to_is_left_alone():
    f = jax.jit(double, donate_argnums=0)
    for _ in range(3):
        held = np.arange(300, dtype=np.float32)
        f(jnp.asarray(held))
        np.testing.assert_array_equal(held, np.arange(300))


def test_operands_are_gone_when_a_call_has_failed():
    def refuse(x):
        raise ValueError("no")

    def f(x):
        return jax.pure_callback(refuse, jax.ShapeDtypeStruct((), x.dtype), x.sum()) + x

    x = fresh()
    with pytest.raises(Exception, match="no"):
        jax.jit(f, donate_argnums=0)(x).block_until_ready()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match=r"deleted|donated"):
        x + 1


def test_an_update_of_one_element_moves_nothing_else():
    f = jax.jit(lambda x, i: x.at[i].add(1.0), donate_argnums=0)
    x = jnp.zeros(1_000_000)
    place = x.unsafe_buffer_pointer()
    for i in (3, 3, 999_999):
        x = f(x, i)
    assert x.unsafe_buffer_pointer() == place
    assert (float(x[3]), float(x[999_999]), float(x.sum())) == (2.0, 1.0, 3.0)


def test_two_results_do_not_lie_in_one_operand():
    f = jax.jit(lambda x: (x + 1, x * 2), donate_argnums=0)
    for _ in range(3):
        a, b = f(fresh())
        np.testing.assert_array_equal(a, np.arange(300) + 1)
        np.testing.assert_array_equal(b, np.arange(300) * 2)


def test_derivatives_keep_what_they_need():
    f = jax.jit(jnp.sin, donate_argnums=0)
    x = fresh()
    _, pull = jax.vjp(f, x)
    np.testing.assert_allclose(pull(jnp.ones(300))[0], np.cos(np.arange(300)), rtol=2e-6, atol=2e-6)


def test_memory_analysis_counts_it():
    f = jax.jit(lambda x, y: (x + y).sum() + x, donate_argnums=0)
    memory = f.lower(fresh(), fresh()).compile().memory_analysis()
    assert memory.alias_size_in_bytes == 1200
    assert jax.jit(double).lower(fresh()).compile().memory_analysis().alias_size_in_bytes == 0


def test_memory_is_given_back_once():
    f = jax.jit(double, donate_argnums=0)
    x = fresh(300_000)
    for _ in range(50):
        x = f(x)
    del x
    gc.collect()
    np.testing.assert_array_equal(f(fresh(300_000))[:3], [1, 3, 5])


def test_an_operand_that_is_not_read_is_deleted_where_it_is_kept():
    for keep in (False, True):
        unused, x = fresh(), fresh()
        jax.jit(lambda unused, x: x + 1, donate_argnums=0, keep_unused=keep)(unused, x)
        assert unused.is_deleted() is keep
