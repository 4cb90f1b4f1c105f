"""Processes that fork while threads of the package compile, load, or compute."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# Each program forks with `child`, whose function must come to an end in time, and prints "done".
COMMON = """
import os, signal, sys, threading, time, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
import numpy as np, numpy.testing
import jitney, jitney.numpy as jnp
from jitney import lax
from jitney.runtime.compilation import compiling

compiling.MAX_CONSTANT_BYTES = -1  # an equal program is compiled again


def child(work):
    pid = os.fork()
    if not pid:
        signal.alarm(60)  # ends a child that hangs
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return pid


def ended_well(*pids):
    states = [os.waitpid(pid, 0)[1] for pid in pids]
    assert not any(states), states


def compiles(k=0.0):
    x = np.linspace(0, 1, 50, dtype=np.float32)
    got = jitney.jit(lambda x: jnp.sin(x) * (k + 2) + jnp.cumsum(x))(x)
    np.testing.assert_allclose(got, np.sin(x) * np.float32(k + 2) + np.cumsum(x), rtol=1e-5)


def computes():
    x = np.ones(1_000_000, np.float32)
    y = np.ones((300, 300), np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(LARGE(x), 3 * x)
        # Not NumPy's product: in a child OpenBLAS waits for a lock that a thread held at the fork.
        np.testing.assert_array_equal(PRODUCT(y), np.full((300, 300), 300, np.float32))


LARGE = jitney.jit(lambda x: x * 2 + 1)
PRODUCT = jitney.jit(lambda y: y @ y)
"""

PROGRAMS = {
    "with_several_pools": """
        from jitney.runtime.native._native import ThreadPool

        def covers(pool):
            chunks = []
            pool.parallel_for(lambda begin, end: chunks.extend(range(begin, end)), 64, 1)
            assert sorted(chunks) == list(range(64))

        pools = [ThreadPool(n) for n in (1, 2, 4)]
        for pool in pools:
            covers(pool)

        def works():
            for pool in (*pools, ThreadPool(3)):
                covers(pool)
            pools.clear()  # ends threads that are here, not the parent's

        ended_well(child(works))
        works()
    """,
    "while_the_compiler_is_loaded": """
        jnp.ones(3) + 1  # starts to load it
        time.sleep(float(sys.argv[1]) / 1000)
        pids = [child(compiles)]
        compiles()
        ended_well(*pids)
        """,
    "while_another_thread_compiles": """
        stop = False
        def compile_always():
            k = 0
            while not stop:
                compiles(k := k + 1)
        thread = threading.Thread(target=compile_always, daemon=True)
        thread.start()
        for _ in range(8):
            ended_well(child(lambda: [compiles(k) for k in range(3)]))
            time.sleep(0.003)
        stop = True
        thread.join()
        """,
    "while_other_threads_compute": """
        computes()
        stop = False
        def compute_always():
            while not stop:
                computes()
        threads = [threading.Thread(target=compute_always, daemon=True) for _ in range(2)]
        [t.start() for t in threads]
        pids = []
        for _ in range(4):
            pids.append(child(lambda: (computes(), compiles())))
            time.sleep(0.003)
        ended_well(*pids)
        stop = True
        [t.join() for t in threads]
        computes()
        """,
    "in_a_callback": """
        main, pids = os.getpid(), []
        def fork(i, x):
            if i == 1:
                pids.append(os.fork())
                signal.alarm(0 if pids[0] else 60)
            return x + 1
        @jitney.jit
        def f(x):
            body = lambda i, x: jitney.pure_callback(fork, x, i, x)
            return (lax.fori_loop(0, 3, body, x * 2) + 1).sum()
        value = float(f(jnp.ones(100_000)))
        assert value == 6e5, value
        computes()
        compiles()
        if os.getpid() != main:
            os._exit(0)
        ended_well(*pids)
        """,
    "in_a_signal_handler_during_compilation": """
        pids = []
        signal.signal(signal.SIGVTALRM, lambda *_: pids.append(child(lambda: None)))
        thread = threading.Thread(target=lambda: [compiles(k) for k in range(20)])
        thread.start()
        while len(pids) < 6:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
            compiles(50 + len(pids))
        thread.join()
        ended_well(*pids)
        """,
    "by_a_child": """
        def grandchild():
            compiles(2)
            ended_well(child(lambda: (computes(), compiles(3))))
        compiles()
        computes()
        ended_well(child(grandchild))
        """,
}


def run(body, *arguments, environment=None):
    code = COMMON + textwrap.dedent(body) + "\nprint('done')\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout == "done\n" and not done.stderr, done.stderr


@pytest.mark.parametrize("milliseconds", [0, 10, 30])
def test_while_the_compiler_is_loaded(milliseconds):
    run(PROGRAMS["while_the_compiler_is_loaded"], str(milliseconds))


@pytest.mark.parametrize("when", [name for name in PROGRAMS if "loaded" not in name])
def test_forks(when):
    threaded = ("while_other_threads_compute", "with_several_pools")
    if when in threaded and os.environ.get("JITNEY_SANITIZER") == "thread":
        pytest.skip("ThreadSanitizer does not support threads that a child of many threads starts")
    run(PROGRAMS[when], environment={"JITNEY_NUM_THREADS": "4"})


def test_children_share_the_programs_on_disk(tmp_path):
    on = {"JITNEY_ENABLE_COMPILATION_CACHE": "1", "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    body = """
    import glob
    pids = [child(lambda k=k: [compiles(k % 2), compiles(9)]) for k in range(4)]
    compiles(9)
    ended_well(*pids)
    ended_well(child(lambda: compiles(1)))
    assert len(glob.glob(sys.argv[1] + "/*/*.program")) == 3
    """
    run(body, str(tmp_path), environment=on)
