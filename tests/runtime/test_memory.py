"""Where arrays lie: at the beginning of lines of the cache, in memory that is given back with them."""

import gc
import resource
import tracemalloc

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime.native._native import empty


def _rss() -> float:
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * 4096 / 1e6


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@pytest.mark.parametrize("n", [256, 1000, 4096, 100_001, 2_000_000])
def test_large_arrays_begin_with_a_line(n):
    given = (np.arange(n + 1, dtype=np.float32) % 1000)[1:]
    x = jnp.asarray(given)
    y = jax.jit(lambda x: x + 1)(x)
    z = jax.device_put(given.astype(np.float16))
    assert x.unsafe_buffer_pointer() % 64 == 0 and y.unsafe_buffer_pointer() % 64 == 0
    np.testing.assert_array_equal(x, given)
    np.testing.assert_array_equal(y, given + 1)
    np.testing.assert_array_equal(z, given.astype(np.float16))


def test_copies_have_row_major_order_and_the_dtype_asked_for():
    given = np.arange(6000).reshape(60, 100).T
    x = jnp.asarray(given, dtype="float32")
    assert np.asarray(x).flags.c_contiguous and x.dtype == "float32"
    np.testing.assert_array_equal(x, given.astype(np.float32))
    given[:] = 0
    assert x.sum() > 0


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (1024,), (7, 300)])
def test_new_arrays_are_numpys_in_all_but_their_memory(shape):
    x = empty(shape, np.dtype(np.float64))
    assert x.shape == shape and x.dtype == np.float64 and x.strides == np.empty(shape).strides
    assert x.flags.writeable and x.flags.c_contiguous and x.flags.aligned
    x[...] = 1
    assert x.copy().tobytes() == x.tobytes()
    view = x[..., None].T
    del x
    gc.collect()
    assert (view == 1).all()


def test_memory_goes_with_its_arrays():
    def use(n):
        for _ in range(n):
            jax.block_until_ready(jnp.asarray(np.ones(200_000, np.float32)) + 1)

    use(20)
    gc.collect()
    before = _rss()
    use(400)  # 320 MB, if it stayed
    assert _rss() - before < 60


def test_allocations_are_traced():
    tracemalloc.start()
    try:
        x = empty((1_000_000,), np.dtype(np.float32))
        del x
        gc.collect()
        current, _ = tracemalloc.get_traced_memory()
        assert current < 1_000_000
    finally:
        tracemalloc.stop()


def test_large_temporaries_are_kept_for_the_next_call():
    f = jax.jit(lambda x: jax.lax.optimization_barrier(x[:, None] + x).sum())
    x = jnp.ones(3100)
    assert f.lower(x).compile().memory_analysis().temp_size_in_bytes > 32 << 20
    f(x).block_until_ready()
    before = _faults()
    for _ in range(5):
        f(x).block_until_ready()
    assert _faults() - before < 5 * 3100 * 3100 * 4 / 4096 / 10


def test_memory_of_large_arrays_that_are_gone_is_used_again():
    n = (40 << 20) // 4
    f = jax.jit(lambda x: x + 1)
    x = jnp.zeros(n)
    for _ in range(4):
        x = f(x)
    x.block_until_ready()
    before = _faults()
    for _ in range(4):
        x = f(x)
    np.testing.assert_array_equal(x[:: n // 7], np.full(8, 8, np.float32))
    assert _faults() - before < n * 4 / 4096


def test_arrays_share_no_memory_that_is_used_again():
    n = (33 << 20) // 4
    held = []
    for k in range(6):
        x = empty((n + k * 100_000,), np.dtype(np.float32))
        x[:] = k
        if k % 2:
            held.append((k, x))
        del x
    for k, x in held:
        assert (x == k).all()


def test_memory_that_is_kept_is_bounded():
    blocks = [empty((40 << 18,), np.dtype(np.float32)) for _ in range(20)]
    for x in blocks:
        x[::1024] = 1
    del x
    full = _rss()
    blocks.clear()
    gc.collect()
    assert full - _rss() > 20 * 41 - 540
