"""The pool of native threads: `runtime/native/threads.h`. Part of the runs under sanitizers."""

import ctypes
import threading

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime import device
from jitney.runtime.native import _native

SUCCEEDED = 1  # what a kernel returns: JT_SUCCEEDED
Kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
parallel_for = ctypes.CFUNCTYPE(
    ctypes.c_int32, Kernel, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)(_native.parallel_for_address())


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    _native.set_threads(request.param)
    yield request.param
    _native.set_threads(device.thread_count())


def covered(n, grain):
    """The chunks that a loop is divided into."""
    chunks = []

    def kernel(_, begin, end):
        chunks.append((begin, end))
        return SUCCEEDED

    assert parallel_for(Kernel(kernel), None, n, grain) == SUCCEEDED
    return sorted(chunks)


@pytest.mark.parametrize("n, grain", [(0, 1), (1, 1), (7, 1), (100, 7), (1000, 1000), (64, 100)])
def test_every_index_is_done_once(n, grain, threads):
    chunks = covered(n, grain)
    done = [i for begin, end in chunks for i in range(begin, end)]
    assert done == list(range(n))


def test_loops_in_a_row_and_within(threads):
    counts = np.zeros(50, np.int64)

    def inner(_, begin, end):
        counts[begin:end] += 1
        return SUCCEEDED

    def outer(_, begin, end):
        assert len(covered(9, 2)) >= 1  # a loop within is its caller's alone
        return SUCCEEDED

    for _ in range(20):
        parallel_for(Kernel(inner), None, 50, 3)
        parallel_for(Kernel(outer), None, 4, 1)
    np.testing.assert_array_equal(counts, 20)


def test_loops_of_several_threads(threads):
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
