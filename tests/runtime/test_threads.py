"""Pools of native threads: `runtime/native/threads.h`. Part of the runs under sanitizers."""

import os
import threading
import time

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime.native._native import ThreadPool


@pytest.fixture(params=[1, 2, 5])
def pool(request):
    return ThreadPool(request.param)


def covered(pool, n, grain):
    """The chunks that a loop is divided into."""
    chunks = []
    pool.parallel_for(lambda begin, end: chunks.append((begin, end)), n, grain)
    return sorted(chunks)


@pytest.mark.parametrize("n, grain", [(0, 1), (1, 1), (7, 1), (100, 7), (1000, 1000), (64, 100)])
def test_every_index_is_done_once(n, grain, pool):
    done = [i for begin, end in covered(pool, n, grain) for i in range(begin, end)]
    assert done == list(range(n))


def test_loops_in_a_row_and_within(pool):
    counts = np.zeros(50, np.int64)

    def inner(begin, end):
        counts[begin:end] += 1

    def outer(begin, end):
        assert len(covered(pool, 9, 2)) >= 1  # a loop within is its caller's alone

    for _ in range(20):
        pool.parallel_for(inner, 50, 3)
        pool.parallel_for(outer, 4, 1)
    np.testing.assert_array_equal(counts, 20)


def test_what_a_part_raises_is_raised_once(pool):
    def body(begin, end):
        raise KeyError(begin)

    for _ in range(5):
        with pytest.raises(KeyError):
            pool.parallel_for(body, 100, 3)
        assert covered(pool, 10, 3)  # the next loop works


def test_pools_are_independent():
    """A loop on one pool, while another's threads wait in a loop for it."""
    first, second = ThreadPool(2), ThreadPool(3)
    done = threading.Event()

    def wait(begin, end):
        assert done.wait(60)

    waiting = threading.Thread(target=first.parallel_for, args=(wait, 2, 1))
    waiting.start()
    assert [i for b, e in covered(second, 100, 7) for i in range(b, e)] == list(range(100))
    done.set()
    waiting.join()


def native_threads():
    return set(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux's /proc")
def test_threads_end_with_their_pool():
    before = native_threads()  # those of earlier tests may end meanwhile
    pool = ThreadPool(6)
    covered(pool, 100, 1)
    started = native_threads() - before
    assert len(started) == 5
    del pool
    # The system lists a thread that has been joined for a moment more.
    deadline = time.monotonic() + 10
    while native_threads() & started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not native_threads() & started


def test_pools_have_threads():
    with pytest.raises(ValueError, match="at least one"):
        ThreadPool(0)


def test_loops_of_several_threads():
    x = np.linspace(0, 1, 300_000, dtype=np.float32)
    program = jax.jit(lambda x, y: (jnp.exp(x) + y, (x * y).sum()))
    expected = [np.asarray(r) for r in program(x, 2.0)]
    wrong = []

    def work():
        for _ in range(15):
            for a, b in zip(program(x, 2.0), expected, strict=True):
                wrong.extend([1] * (not np.array_equal(a, b)))

    running = [threading.Thread(target=work) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not wrong
