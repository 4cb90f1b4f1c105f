"""Callbacks of running programs that delete, donate, change, raise, fork, send signals, and call again.

Part of the runs under sanitizers (`make sanitize`).
"""

import gc
import os
import signal
import threading
import warnings

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

N = 40_000  # elements: memory that the allocator gives back, or fills, when it is freed


def around(interfere):
    """A program that reads its inputs, calls `interfere`, and reads them again."""

    def call(x):
        interfere()
        return x

    @jax.jit
    def program(values):
        before = sum([v.sum() for v in values])
        # The callback's result is 0 times what it is given: what follows cannot come before it.
        zero = jax.pure_callback(call, before, before) * 0
        return before, sum([(v * (1 + zero)).sum() for v in values])

    return program


def arrays():
    return [jnp.full(N, 1.0), jnp.full(N, 2.0)]


@jax.jit
def fresh(x):
    return x * 3 + 1


give_away = jax.jit(lambda x: x + 1, donate_argnums=0)


def reuse_memory():
    gc.collect()
    return [fresh(jnp.full(N, float(k))) for k in range(4)]


def interferences(values):
    def delete():
        values[0].delete()
        reuse_memory()

    def donate():
        give_away(values[0])
        reuse_memory()

    def empty():
        values.clear()
        reuse_memory()

    def replace():
        values[:] = [jnp.ones(3), jnp.ones(3)]
        reuse_memory()

    def collect():
        values.append(values)
        values.clear()
        reuse_memory()

    def call_again():
        reuse_memory()
        jax.jit(lambda x: jnp.sin(x).sum())(values[0])

    def forget():
        jax.clear_caches()
        reuse_memory()

    return {f.__name__: f for f in (delete, donate, empty, replace, collect, call_again, forget)}


@pytest.mark.parametrize("what", interferences([]))
@pytest.mark.parametrize("by", ["callback", "thread"])
def test_operands_last_as_long_as_the_call(what, by):
    values = arrays()
    present = []  # what the callback does in this call

    def interfere():
        if not present:
            return
        work = interferences(values)[what]
        if by == "callback":
            work()
        else:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    program = around(interfere)
    for _ in range(3):  # the first call goes by way of Python, the others are native
        program(values)
        present.append(True)
        before, after = program(values)
        present.clear()
        assert (float(before), float(after)) == (3.0 * N, 3.0 * N)
        values[:] = arrays()


class StopError(Exception):
    pass


def test_callbacks_that_raise():
    fails = []

    def interfere():
        if fails:
            raise StopError

    program = around(interfere)
    values = arrays()
    for _ in range(5):
        fails.clear()
        assert float(program(values)[1]) == 3.0 * N
        fails.append(True)
        with pytest.raises(jax.errors.JaxRuntimeError, match="StopError"):
            program(values)


def test_callbacks_in_loops_that_raise():
    @jax.jit
    def loop(x, last):
        def step(i, x):
            return jax.pure_callback(add, x, i, x) + 0

        return lax.fori_loop(0, 50, step, x) + last

    def add(i, x):
        if i == stop:
            raise StopError
        return np.asarray(x) + 1

    for stop in (None, 0, 20, None, 49):
        if stop is None:
            np.testing.assert_array_equal(loop(jnp.zeros(N), 1.0), np.full(N, 51.0))
        else:
            with pytest.raises(jax.errors.JaxRuntimeError, match="StopError"):
                loop(jnp.zeros(N), 1.0)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_signals_that_raise():
    """A handler runs in a callback, or between calls; no result may be wrong."""

    @jax.jit
    def loop(x):
        return lax.fori_loop(0, 100, lambda i, x: jax.pure_callback(lambda x: x + 1, x, x), x)

    def stop(*_):
        raise StopError

    x = jnp.zeros(3)
    loop(x)
    former = signal.signal(signal.SIGVTALRM, stop)
    stopped = 0
    gc.disable()  # its callbacks are others' code, which lets no exception out
    try:
        for k in range(40):
            try:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0.0005 + 0.0001 * (k % 10))
                for _ in range(20):
                    np.testing.assert_array_equal(loop(x), np.full(3, 100.0))
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            except (StopError, jax.errors.JaxRuntimeError):
                stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, former)
        gc.enable()
    assert stopped
    np.testing.assert_array_equal(loop(x), np.full(3, 100.0))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_callbacks_that_fork():
    parent, pids = os.getpid(), []

    def interfere():
        if len(pids) < 3:
            with warnings.catch_warnings():
                # Python's, of threads; and real jax's, where another test has loaded it.
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", RuntimeWarning)
                pids.append(os.fork())

    program = around(interfere)
    right = all([float(program(arrays())[1]) == 3.0 * N for _ in range(4)])
    right = right and float(fresh(jnp.full(2_000_000, 1.0)).sum()) == 8_000_000
    if os.getpid() != parent:
        os._exit(0 if right and len(pids) == 3 else 1)
    assert right
    # A child has the numbers of those that came before it, which are not its own.
    assert [os.waitpid(pid, 0)[1] for pid in pids if pid] == [0] * len([pid for pid in pids if pid])


def test_callbacks_while_other_threads_call():
    values = arrays()
    program = around(lambda: reuse_memory())
    wrong = []

    def work():
        for _ in range(10):
            wrong.extend([x for x in program(values) if float(x) != 3.0 * N])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
