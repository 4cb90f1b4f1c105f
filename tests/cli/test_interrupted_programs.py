"""One Ctrl-C ends a program and the command that reports on it, which does not run it again."""

import signal
import subprocess
import sys
import time

import pytest

# A job of a shell may have the signal ignored.
HANDLER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
RUNNING = f"""{HANDLER}
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    return jax.lax.fori_loop(0, 2 * 10**9, lambda i, x: jnp.sin(x) + 1, x)
print("start", flush=True)
print(f(jnp.ones(1000)))
"""
COMPILING = f"""{HANDLER}
import jax, jax.numpy as jnp
@jax.jit
def f(x):
    for i in range(4000):
        x = jnp.sin(x) * (1 + i) + jnp.cumsum(x)[-1]
    return x
print("start", flush=True)
print(f(jnp.ones(10)))
"""


@pytest.mark.parametrize("program", [RUNNING, COMPILING], ids=["running", "compiling"])
@pytest.mark.parametrize("command", ["explain", "explore", "profile"])
def test_one_interrupt_ends_it(command, program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    running = subprocess.Popen(
        [sys.executable, "-m", "jitney", command, "program.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert running.stdout is not None and running.stdout.readline() == "start\n"
        time.sleep(1.5)  # it traces, compiles or runs now; each of them takes longer
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode != 0 and errors.rstrip().endswith("KeyboardInterrupt")
