"""Deferred calls: `runtime/execution/async_dispatch.py`, `runtime/native/queues.pxi`."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.core.diagnostics.errors import interrupted_call_error
from jitney.runtime.execution import async_dispatch
from jitney.runtime.native import _native


@pytest.fixture
def all_deferred():
    """Defers all calls of known signatures, however short they are."""
    _native.defer_calls_from(0, interrupted_call_error)
    yield
    async_dispatch.disable()
    async_dispatch.enable()


@pytest.fixture
def x():
    return jnp.linspace(0.0, 1.0, 1000)


def warm(f, *args):
    """`f`, of whose calls on such arguments native code knows the signature."""
    for _ in range(3):
        f(*args)
    return f


def turns(n):
    """A function that takes some nanoseconds for each of `n`, whatever `n` is."""
    return lax.fori_loop(0, n, lambda i, c: c * 1.5 % 7.0, 1.0)


LONG, ENDLESS = 20_000_000, 2**31 - 1  # tenths of a second, tens of seconds


@pytest.fixture
def count():
    f = jax.jit(lambda n: turns(n))
    f(LONG).block_until_ready()  # the next call is deferred, as this one took long
    return f


# --- futures --------------------------------------------------------------------------------------


def test_long_calls_return_before_their_results(count):
    y = count(LONG)
    assert not y.is_ready()
    assert y.dtype == np.float32 and y.shape == () and "is_ready" in dir(y)
    assert y.block_until_ready() is y and y.is_ready()
    assert float(y) == float(turns(jnp.int32(LONG)))


def test_short_calls_do_not_wait_for_long_ones(count, x):
    f = warm(jax.jit(jnp.sin), x)
    y = count(ENDLESS)
    np.testing.assert_allclose(f(x), np.sin(x), rtol=1e-6)
    assert not y.is_ready()
    stop(y)


def raise_timeout(number, frame):
    raise TimeoutError("too long")


def stop(y):
    """Ends a call that takes too long by a signal, as Ctrl-C does."""

    def handler(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        y.block_until_ready()
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("all_deferred")
def test_chains(x):
    f = warm(jax.jit(lambda x, s: jnp.cos(x) * s), x, 0.5)
    y, want = x, np.asarray(x)
    for _ in range(1000):
        y, want = f(y, 0.5), np.cos(want) * np.float32(0.5)
    np.testing.assert_allclose(y, want, rtol=1e-5)


@pytest.mark.usefixtures("all_deferred")
def test_all_kinds_of_arguments_and_results(x):
    f = jax.jit(lambda d, n, k: ({"a": d["a"] * n, "b": (d["b"] + k,)}, jax.random.key(3)))
    warm(f, {"a": x, "b": x[:0]}, 2, 3.0)
    results, key = f({"a": f({"a": x, "b": x[:0]}, 4, 1.0)[0]["a"], "b": x[:0]}, 2, 3.0)
    np.testing.assert_array_equal(results["a"], np.asarray(x) * 8)
    assert results["b"][0].shape == (0,)
    assert jax.random.uniform(key) == jax.random.uniform(jax.random.key(3))


@pytest.mark.usefixtures("all_deferred")
@pytest.mark.parametrize(
    "use",
    [
        np.asarray, repr, memoryview, lambda y: y + 1, lambda y: y + y, lambda y: y[0],
        lambda y: float(y[1]), lambda y: y.at[0].set(1), lambda y: jnp.sort(y), lambda y: y == y,
        lambda y: jax.device_put(y, jax.devices()[0]), np.from_dlpack, lambda y: y.T, list,
        lambda y: jax.grad(lambda z: (z * y).sum())(y), lambda y: lax.cond(True, jnp.sin, jnp.cos, y),
        lambda y: jax.jit(lambda: y * 2)(), lambda y: jax.vmap(jnp.sin)(y), lambda y: y.copy(),
    ],
)  # fmt: skip
def test_uses_wait(use, x):
    f = warm(jax.jit(lambda x: jnp.sin(x) * 2), x)
    want = use(jnp.asarray(np.asarray(f(x))))
    got = use(f(x))
    assert type(got) is type(want)
    if isinstance(want, str):
        assert got == want
    else:
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_arguments_of_numpy_may_be_written_to(count, x):
    slow = jax.jit(lambda x, n: x + lax.fori_loop(0, n, lambda i, c: c * 1.5 % 7.0, 0.0))
    n = jnp.int32(LONG)
    a = np.zeros(5, np.float32)
    warm(slow, a, n)
    y = slow(a, n)
    a[:] = 1
    np.testing.assert_array_equal(y, np.zeros(5))


def test_calls_become_long(count):
    for _ in range(3):
        count(3).block_until_ready()
    assert count(3).is_ready()
    for _ in range(3):
        count(LONG).block_until_ready()
    assert not count(LONG).is_ready()


# --- order ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("all_deferred")
def test_effects_happen_in_order(x):
    seen = []

    @jax.jit
    def tell(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x[0], ordered=True)
        return x + 1

    f = warm(jax.jit(lambda x: x * 2), x)
    warm(tell, x)
    jax.effects_barrier()
    seen.clear()
    y = x
    for _ in range(5):
        y = tell(f(y))
    assert seen == [0.0, 2.0, 6.0, 14.0, 30.0]
    assert float(y[0]) == 31.0


@pytest.mark.usefixtures("all_deferred")
def test_calls_within_callbacks(x):
    f = warm(jax.jit(lambda x: x * 2), x)
    g = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(f(f(jnp.asarray(v)))), x, x) + 1)
    y = x
    for _ in range(5):
        y = f(g(y))
    want = np.asarray(x, np.float64)
    for _ in range(5):
        want = 2 * (4 * want + 1)
    np.testing.assert_allclose(y, want, rtol=1e-5)


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("all_deferred")
def test_deleted_arguments_and_results(x):
    f = warm(jax.jit(lambda x: jnp.sin(x) * 2), x)
    y = f(x + 0)
    z = f(y)
    y.delete()
    np.testing.assert_allclose(z, np.sin(np.sin(x) * 2) * 2, rtol=1e-5)
    y, gone = f(x), f(x)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(gone)
    np.testing.assert_allclose(y, np.sin(x) * 2, rtol=1e-5)


@pytest.mark.usefixtures("all_deferred")
def test_donated_results_of_calls_that_have_not_run(x):
    f = warm(jax.jit(lambda x: x + 1), x)
    step = jax.jit(lambda x: x * 2, donate_argnums=0)
    for _ in range(3):
        step(f(x))
    first = f(x)
    y = step(first)
    assert first.is_deleted()
    for _ in range(50):
        y = step(y * 0.5)
    np.testing.assert_allclose(y, (np.asarray(x) + 1) * 2, rtol=1e-6)
    # The chain stays in the memory of its first array.
    y = step(x + 0)
    address = np.asarray(y).ctypes.data
    for _ in range(10):
        y = step(y)
    assert np.asarray(y).ctypes.data == address
    # Not while another call reads it.
    y = f(x)
    z = f(y)
    w = step(y)
    np.testing.assert_allclose(z, np.asarray(x) + 2, rtol=1e-6)
    np.testing.assert_allclose(w, (np.asarray(x) + 1) * 2)


def test_arguments_are_freed_without_another_call(count):
    slow = jax.jit(lambda x, n: x.sum() + turns(n))
    n = jnp.int32(LONG)
    x = jnp.ones(300_000)
    for _ in range(3):
        slow(x, n).block_until_ready()
    held = weakref.ref(x._value)
    y = slow(x, n)
    del x
    assert held() is not None
    until = time.monotonic() + 20
    while held() is not None and time.monotonic() < until:
        time.sleep(0.01)
    assert held() is None and y.is_ready()


@pytest.mark.usefixtures("all_deferred")
def test_results_that_are_dropped(x):
    f = warm(jax.jit(lambda x: jnp.sin(x) * 2), x)
    for _ in range(200):
        f(x)
    del f
    gc.collect()


def test_few_calls_are_deferred_at_a_time(count):
    f = warm(jax.jit(lambda y: y + 1), count(LONG))
    y = first = count(ENDLESS)
    for _ in range(15):
        y = f(y)
    assert not y.is_ready()
    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(TimeoutError):
        f(y)  # waits for the first
    signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="interrupted by TimeoutError"):
        float(first)


def test_donors_survive_an_interrupted_wait_for_room(count, x):
    """Of a call whose signature is not known."""
    f = warm(jax.jit(lambda y: y + 1), count(LONG))
    y = count(ENDLESS)
    for _ in range(15):
        y = f(y)
    g = jax.jit(lambda d, y: d + y, donate_argnums=0)
    donor = x + 0
    g.lower(donor, y).compile()
    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    with pytest.raises(TimeoutError):
        g(donor, y)
    signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(donor, x)


# --- errors ---------------------------------------------------------------------------------------


def test_interrupted_calls(count):
    f = warm(jax.jit(lambda y: y + 1), jnp.float32(1))
    y = count(ENDLESS)
    z = f(y)
    stop(y)
    for result in (y, z, y):
        with pytest.raises(RuntimeError, match="interrupted by KeyboardInterrupt"):
            float(result)
    with pytest.raises(RuntimeError, match="interrupted by KeyboardInterrupt"):
        f(y)
    assert float(f(count(3))) == float(turns(jnp.int32(3))) + 1


@pytest.mark.parametrize("pause", [0, 0.02])
def test_later_calls_are_not_interrupted(count, pause):
    """Whichever thread runs the first: the one that waits, or the queue's after a pause."""
    first, second, third = count(ENDLESS), count(LONG), count(3)
    time.sleep(pause)
    stop(first)
    assert float(second) == float(turns(jnp.int32(LONG)))
    assert float(third) == float(turns(jnp.int32(3)))
    with pytest.raises(RuntimeError, match=r"by <lambda> at test_async_dispatch.py:\d+ was inter"):
        float(first)


def test_an_interrupt_of_the_buffer_protocol_is_not_lost(count):
    y = count(ENDLESS)
    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(TimeoutError, match="too long"):
        np.asarray(y)
    signal.signal(signal.SIGALRM, before)
    with pytest.raises(RuntimeError, match="interrupted by TimeoutError"):
        np.asarray(y)


def test_handlers_run_while_results_are_waited_for(count):
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    assert np.isfinite(float(count(10 * LONG)))
    assert seen == [1]
    signal.signal(signal.SIGALRM, before)


# --- threads, processes ---------------------------------------------------------------------------


@pytest.mark.usefixtures("all_deferred")
def test_threads_share_a_queue(x):
    f = warm(jax.jit(lambda x, s: jnp.cos(x) * s), x, 0.5)
    want = np.asarray(x)
    for _ in range(100):
        want = np.cos(want) * np.float32(0.5)
    found = []

    def work():
        y = x
        for _ in range(100):
            y = f(y, 0.5)
        found.append(np.asarray(y))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for y in found:
        np.testing.assert_allclose(y, want, rtol=1e-5)


PRELUDE = """
import os, threading, time
import numpy as np
import jitney as jax, jitney.numpy as jnp
from jitney import lax
count = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c * 1.5 % 7.0, 1.0))
for _ in range(3): want = float(count(5_000_000))
"""


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + textwrap.dedent(program)],
        capture_output=True, text=True, timeout=100, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("program", "environment", "said"),
    [
        ("print(count(5_000_000).is_ready())", {}, "False"),
        ("print(count(5_000_000).is_ready())", {"JITNEY_SYNC": "1"}, "True"),
        ("print(count(5_000_000).is_ready())", {"JAX_CPU_ENABLE_ASYNC_DISPATCH": "0"}, "True"),
        (
            """
            jax.config.update("jax_cpu_enable_async_dispatch", False)
            print(count(5_000_000).is_ready())
            """,
            {},
            "True",
        ),
        ("count(100_000_000); print('end')", {}, "end"),  # the process waits for it
        ("y = count(5_000_000); os._exit(0)", {}, ""),
        (
            "import atexit; atexit.register(lambda: print(float(count(9)) > 0)); count(9)",
            {},
            "True",
        ),
        (
            """
            def work():
                while True: count(5_000_000)
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            """,
            {},
            "",
        ),
        (
            """
            y = count(5_000_000)
            child = os.fork()
            assert float(y) == want and float(count(5_000_000)) == want
            if child == 0: os._exit(0)
            print(os.waitpid(child, 0)[1])
            """,
            {},
            "0",
        ),
        (
            """
            def work():
                for _ in range(20): assert float(count(5_000_000)) == want
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads: thread.start()
            for _ in range(5):
                child = os.fork()
                if child == 0: os._exit(0 if float(count(5_000_000)) == want else 1)
                assert os.waitpid(child, 0)[1] == 0
            for thread in threads: thread.join()
            print("done")
            """,
            {},
            "done",
        ),
    ],
)
def test_processes(program, environment, said):
    done = run(program, **environment)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")


def test_an_interrupt_at_exit():
    done = run(
        """
        import signal
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        y = count(2**31 - 1)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        """
    )
    assert done.stderr == "jitney: KeyboardInterrupt while calls were unfinished at exit\n"


def test_a_lack_of_memory_is_told_where_results_are_read():
    """Temporary values of half a gigabyte, where the process may have an eighth of that."""
    done = run(
        """
        import resource
        @jax.jit
        def f(x):
            y = jnp.cumsum(jnp.sin(x)[:, None] + jnp.cos(x), axis=0)
            return jnp.cumsum(y, axis=1).sum(0)
        x = jnp.ones(12_000)
        for _ in range(2): f(x).block_until_ready()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, -1))
        y = f(x)
        try: float(y[0])
        except MemoryError as error: print(error, *error.__notes__)
        """
    )
    assert done.stderr == ""
    assert "bytes of temporaries" in done.stdout
    assert "in the call of f in <string>, line " in done.stdout


def test_profiles_count_calls_where_they_are_made(count):
    with jax.profile() as p:
        for _ in range(3):
            y = count(LONG // 10)
        assert y.is_ready()
    count(LONG).block_until_ready()  # compiled without clocks
    assert not count(LONG).is_ready()
    assert sum(step.seconds for step in p.steps) <= p.seconds


# --- what a stress test has found -----------------------------------------------------------------


def interrupt(use):
    """Calls `use`, which a handler of a signal interrupts; raising TimeoutError."""
    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError):
            use()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_handlers_get_no_data_of_the_call_that_they_interrupt(count):
    f = warm(jax.jit(lambda y: y + 1), jnp.float32(1))
    found = []

    def handler(number, frame):
        with contextlib.suppress(RuntimeError):  # if this thread runs the call
            found.append(f(y))
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    for _ in range(3):
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        y = count(ENDLESS)
        with pytest.raises(TimeoutError):
            y.block_until_ready()
    signal.signal(signal.SIGALRM, before)
    for z in found:
        with pytest.raises(RuntimeError, match="interrupted by TimeoutError"):
            float(z)


def test_an_interrupt_leaves_the_calls_after_the_one_that_is_waited_for(count):
    want = float(turns(jnp.int32(LONG)))
    for _ in range(3):
        y, z = count(ENDLESS), count(LONG)
        interrupt(y.block_until_ready)
        assert float(z) == want


def test_interrupted_arrays_are_freed(count):
    def wait():
        y = count(ENDLESS)
        gone.append(weakref.ref(y))
        interrupt(y.block_until_ready)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="interrupted by TimeoutError"):
                float(y)
        raise KeyError("with a traceback that refers to this frame")

    gone = []
    with pytest.raises(KeyError):
        wait()
    gc.collect()
    assert gone[0]() is None


def test_an_interrupt_of_the_last_moment_is_not_lost(count):
    """NumPy drops what a handler raises after the call has ended, before its data are handed out."""
    n = LONG // 10  # shorter than the time between two looks for signals
    rung = raised = 0

    def handler(number, frame):
        nonlocal rung
        rung += 1
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handler)
    for _ in range(20):
        try:
            y = count(n)
            signal.setitimer(signal.ITIMER_REAL, 0.004)
            np.asarray(y)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except TimeoutError:
            raised += 1
    signal.signal(signal.SIGALRM, before)
    assert raised == rung


@pytest.mark.usefixtures("all_deferred")
def test_no_thread_reads_what_another_has_donated(count):
    """A donation that waits for room in the queue has not taken place yet."""
    x = jnp.linspace(0.0, 1.0, 1000)
    step = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    f = warm(jax.jit(lambda x: x + 1), x)
    for _ in range(3):
        step(x + 0)
    y = x + 0
    first = count(ENDLESS)
    rest = [f(x) for _ in range(15)]
    thread = threading.Thread(target=lambda: rest.append(step(y)))
    thread.start()
    time.sleep(0.1)  # it waits for room
    assert not y.is_deleted()
    other = threading.Thread(target=lambda: rest.append(f(y)))
    other.start()
    time.sleep(0.1)
    stop(first)
    thread.join()
    other.join()
    got = sorted(float(r[0]) for r in rest[15:])
    assert got in ([-1.0, 1.0], [-1.0])  # or the other thread has found it deleted


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (  # a thread that makes one call after another
            """
            ends = []
            def work():
                while not ends: count(500_000)
            thread = threading.Thread(target=work)
            thread.start()
            time.sleep(0.2)
            for _ in range(3):
                child = os.fork()
                if child == 0: os._exit(0 if float(count(5_000_000)) == want else 1)
                assert os.waitpid(child, 0)[1] == 0
            ends.append("in time")
            thread.join()
            print(*ends, count(5_000_000).is_ready())
            """,
            "in time False",
        ),
        (  # Python drops what is raised before a fork
            """
            import signal
            def ring(*_): raise TimeoutError
            signal.signal(signal.SIGALRM, ring)
            parent = os.getpid()
            y = count(2**31 - 1)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            try:
                os.fork()
                for _ in range(1000): pass
                is_raised = False
            except TimeoutError: is_raised = True
            if os.getpid() != parent: os._exit(is_raised)
            print(is_raised, os.wait()[1])
            """,
            "True 0",
        ),
    ],
)
def test_forks(program, said):
    done = run(program)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")
