"""Interrupts at random times in each phase of programs: nothing crashes, and all works afterwards.

    PYTHONPATH=src python -m tests.fuzz.interrupts --count 2000 --seed 1

A phase runs in a worker process, again and again, and each time is interrupted once: by an alarm at a
random time, or as a signal would at the entry of a Python function or after a call of native code
(`sys.setprofile` raises there). After each interrupt no context may be in force that was not before,
and a small program gives what it gave before; the phase itself is run to its end every so often. Phases
that a process has once, loading and exit, have a process for each interrupt.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Interrupt(BaseException):
    """What is raised in the middle of a phase."""


# --- interrupting -----------------------------------------------------------------------------------


class Alarm:
    """Raises `Interrupt` from a signal's handler, at a random time of the run."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose
        self._is_armed = False
        self._seconds = 0.02
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, number: int, frame: object) -> None:
        if self._is_armed:
            self._is_armed = False
            raise Interrupt

    def __call__(self, phase: Callable[[], object]) -> None:
        begin = time.perf_counter()
        try:
            self._is_armed = True
            signal.setitimer(signal.ITIMER_REAL, self._seconds * self._choose.random() + 1e-5)
            phase()
            self._is_armed = False
            self._seconds = 0.8 * self._seconds + 0.2 * (time.perf_counter() - begin)
        except Interrupt:
            self._seconds *= 1.1
        finally:
            self._is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)


class AtCalls:
    """Raises `Interrupt` at the entry of a Python function, or after a native call, by chance."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose
        self._calls = 2000.0  # about as many as the phase has

    def __call__(self, phase: Callable[[], object]) -> None:
        left = 1 + int(self._choose.random() * self._calls)
        made = 0

        def count(frame: Any, event: str, argument: object) -> None:
            nonlocal made
            if event in ("call", "c_return"):
                made += 1
                if made == left:
                    raise Interrupt

        try:
            sys.setprofile(count)
            phase()
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
        self._calls = self._calls * 1.1 if made >= left else 0.5 * (self._calls + made)


# --- what must hold afterwards ----------------------------------------------------------------------


def state() -> dict[str, Any]:
    """Everything that contexts put in force."""
    import numpy as np

    from jitney.core.recording import eqn_notes
    from jitney.core.settings import options
    from jitney.core.sharding import mesh
    from jitney.core.sharding_in_types import explicit
    from jitney.core.source import source_info
    from jitney.core.tracing import trace
    from jitney.primitives.elementwise import masks
    from jitney.runtime.features import key_reuse

    scopes = source_info.scopes
    return {
        "trace": trace.state.trace is trace.state.eval_trace,
        "axes": (trace.state.axis_env, trace.state.checked_axes),
        "scopes": (str(scopes.stack), scopes.origin, str(scopes.around)),
        "settings": (options.local.values, options.local.epochs),
        "meshes": (mesh.get_mesh(), mesh.entered_mesh(), mesh._entered.entered),
        "notes": eqn_notes.current(),
        "rewriting": explicit.rewriting.is_on,
        "keys": key_reuse._state.inside,
        "masks": masks.local.noted,
        "errors of NumPy": np.geterr(),
    }


def small_programs() -> list[Any]:
    """Results of programs that use a little of everything, compiled anew."""
    import numpy as np

    import jitney as jax
    import jitney.numpy as jnp

    x = jnp.arange(1.0, 7.0).reshape(2, 3)
    f = jax.jit(lambda x: jnp.cumsum(jnp.sin(x) @ x.T, 0))
    return [
        np.asarray(f(x)),
        np.asarray(jax.grad(lambda x: jax.vmap(jnp.cos)(x).sum())(x)),
        str(jax.make_jaxpr(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * x, x))(x)),
        str(jnp.ones(3, int).dtype),
    ]


# --- phases -----------------------------------------------------------------------------------------


def phases() -> dict[str, Callable[[], object]]:
    """What is interrupted, by name; each can be run again."""
    import numpy as np

    import jitney as jax
    import jitney.numpy as jnp
    from jitney import lax
    from jitney.experimental import xla_metadata

    numbers: Iterator[int] = iter(range(1, 1_000_000))
    x = jnp.linspace(0.0, 1.0, 400).reshape(20, 20)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))

    def body(x: Any, k: int) -> Any:
        y = jnp.tanh(jnp.sin(x * k) @ x.T)
        y = lax.fori_loop(0, 3, lambda i, c: c + jnp.roll(c, 1) * 0.1, y)
        return jnp.cumsum(y, 0).sum()

    def program() -> Any:
        k = next(numbers)
        return jax.jit(lambda x: body(x, k))

    def tracing() -> None:
        k = next(numbers)
        jax.make_jaxpr(jax.grad(lambda x: body(x, k)))(x)
        jax.make_jaxpr(jax.vmap(lambda row: body(row[None], k), axis_name="rows"))(x)

    def contexts() -> None:
        with jax.enable_x64(True), jax.named_scope("scope"), jax.numpy_rank_promotion("allow"):
            assert jnp.ones(1).dtype == "float64"
        with mesh, xla_metadata.set_xla_metadata(name=1), jax.disable_jit():
            assert jax.jit(lambda y: y.item())(jnp.float32(2)) == 2.0
        with jax.ensure_compile_time_eval(), jax.transfer_guard("allow"):
            jnp.sin(1.0)
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh), jax.checking_leaks():
            jax.jit(lambda y: y + 1)(1.0)

    lowered: list[Any] = []

    def lowering() -> None:
        lowered.append(program().lower(x))
        if len(lowered) > 20:
            lowered.clear()

    def compiling() -> None:
        lowered_now = lowered.pop() if lowered else program().lower(x)
        lowered_now.compile()

    def disk() -> None:
        k = next(numbers) % 3
        jax.clear_caches()
        jax.jit(lambda x: body(x, k))(x)

    def eager() -> None:
        y = x
        for _ in range(5):
            y = jnp.where(y > 0.5, jnp.sqrt(y), y[::-1]) - y.mean(0) + jnp.sort(y, 1)
        np.asarray(y)

    long = jax.jit(lambda x: lax.fori_loop(0, 3000, lambda i, c: jnp.sin(c) + jnp.roll(c, 1), x))
    large = jnp.ones((600, 600))
    library = jax.jit(lambda a: jnp.linalg.eigh(a @ a.T)[0].sum() + jnp.linalg.inv(a + a.T).sum())
    square = jnp.eye(60) * 3 + 0.1

    def add(y: Any) -> Any:
        return np.asarray(y) + np.float32(1)

    def calling(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            return jax.pure_callback(add, jax.ShapeDtypeStruct(c.shape, c.dtype), c) * 0.5

        return lax.fori_loop(0, 20, step, x)

    callback = jax.jit(calling)

    def transfers() -> None:
        y = jax.device_put(np.ones((300, 300), np.float32), jax.devices()[0])
        jax.device_get([y, jnp.asarray(np.asarray(y)), y + 1])

    def donated() -> None:
        f = jax.jit(lambda y: jnp.cos(y) + 1, donate_argnums=0)
        f(jnp.ones(1000))

    return {
        "tracing": tracing,
        "contexts": contexts,
        "lowering": lowering,
        "compiling": compiling,
        "disk": disk,
        "eager": eager,
        "kernels": lambda: (long(x), jnp.sin(large).sum()),
        "library": lambda: (library(square), jnp.linalg.solve(square, square[0])),
        "callbacks": lambda: callback(x),
        "transfers": transfers,
        "donated": donated,
    }


FRESH = ("loading", "exit")  # that a process has once
NAMES = ("tracing", "contexts", "lowering", "compiling", "disk", "eager", "kernels", "library",
         "callbacks", "transfers", "donated")  # fmt: skip


# --- worker processes -------------------------------------------------------------------------------


def interrupt_phase(name: str, seed: int, count: int) -> None:
    """Interrupts a phase `count` times; raises if anything is not as before."""
    import numpy as np

    sys.unraisablehook = lambda _: None  # interrupts of finalizers are lost, as Python has it
    choose = random.Random(f"{name} {seed}")
    phase = phases()[name]
    phase()
    before, results = state(), small_programs()
    ways = [Alarm(choose), AtCalls(choose)]
    for k in range(count):
        ways[k % 2](phase)
        now = state()
        assert now == before, {
            key: (before[key], now[key]) for key in now if now[key] != before[key]
        }
        if k % 10 == 0 or k == count - 1:
            phase()
            for new, old in zip(small_programs(), results, strict=True):
                np.testing.assert_array_equal(new, old)
            assert state() == before


def interrupt_loading(seed: int) -> None:
    """Loads the package and what it loads late, interrupted once."""
    # Modules of other packages may not be made for it: NumPy cannot be loaded again.
    import llvmlite.binding as llvm
    import ml_dtypes
    import opt_einsum
    import scipy.linalg
    import scipy.special

    assert llvm and ml_dtypes and opt_einsum and scipy.linalg and scipy.special
    choose = random.Random(seed)

    def load() -> None:
        import jitney as jax
        import jitney.numpy as jnp

        x = jnp.eye(3) * 2 + 1
        jnp.linalg.solve(x, x[0]), jnp.linalg.eigh(x), jnp.convolve(x[0], x[1])
        jax.random.gamma(jax.random.key(0), x), jax.jit(jnp.cumsum)(x)
        jax.grad(lambda x: jax.checkpoint(jnp.sin)(x).sum())(x)
        jax.pmap(lambda y: y + 1)(x[:1])

    alarm = Alarm(choose)
    alarm._seconds = 0.8
    alarm(load)
    load()
    assert small_programs()
    assert all(value is True for key, value in state().items() if key == "trace")


def interrupt_exit(seed: int) -> None:
    """Ends in the middle of things, interrupted by an alarm that raises, or while threads compile."""
    import jitney as jax
    import jitney.numpy as jnp

    choose = random.Random(seed)
    alarm = Alarm(choose)
    sys.unraisablehook = lambda _: None
    sys.excepthook = lambda *_: None
    x = jnp.ones(10)
    alarm._is_armed = True
    signal.setitimer(signal.ITIMER_REAL, choose.random() * 0.05 + 1e-5)
    jax.jit(lambda x: jnp.sin(x) + jnp.cumsum(x))(x)
    jax.jit(lambda x: jnp.cos(x) + jnp.sort(x)).lower(x).compile()


def _worker(name: str, seed: int, count: int, seconds: float) -> None:
    import faulthandler

    faulthandler.enable()
    faulthandler.dump_traceback_later(0.9 * seconds)  # where it hangs, before it is killed
    if name == "loading":
        interrupt_loading(seed)
    elif name == "exit":
        interrupt_exit(seed)
    else:
        interrupt_phase(name, seed, count)


def _crowd() -> float:
    """How many times as long things take as on this machine alone: processes that wait for a core."""
    cores = os.cpu_count() or 1
    return max(1.0, os.getloadavg()[0] / cores) if hasattr(os, "getloadavg") else 1.0


def _run(name: str, seed: int, count: int, longest: float) -> str | None:
    """Interrupts a phase in a process of its own: None, or what has gone wrong."""
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "tests.fuzz.interrupts",
        "--worker",
        name,
    ]
    seconds = (longest + 5 * count) * _crowd()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": folder}
        on = "1" if name == "disk" else "0"
        environment |= {"JAX_ENABLE_COMPILATION_CACHE": on, "JITNEY_ENABLE_COMPILATION_CACHE": on}
        try:
            done = subprocess.run(
                [*command, "--seed", str(seed), "--count", str(count), "--seconds", str(seconds)],
                cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            return f"hangs\n{(error.stderr or b'').decode()}"
    # An interrupted program exits by its exception; a crash is a signal, or an abort.
    is_well = done.returncode >= 0 if name == "exit" else done.returncode == 0
    return None if is_well else f"exit code {done.returncode}\n{done.stderr.decode()[-3000:]}"


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000, help="interrupts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phases", nargs="+", default=[*NAMES, *FRESH], choices=[*NAMES, *FRESH])
    parser.add_argument(
        "--seconds", type=float, default=120,
        help="that an interrupt with its checks may take, alone, before it counts as a hang",
    )  # fmt: skip
    parser.add_argument("--worker", help="a phase to be interrupted in this process")
    options = parser.parse_args()
    if options.worker:
        _worker(options.worker, options.seed, options.count, options.seconds)
        return
    failures = 0
    for index, name in enumerate(options.phases):
        share = options.count * (index + 1) // len(options.phases)
        share -= options.count * index // len(options.phases)
        size = 1 if name in FRESH else 50
        for begin in range(0, share, size):
            seed = options.seed + begin
            wrong = _run(name, seed, min(size, share - begin), options.seconds)
            if wrong:
                failures += 1
                print(f"{name}, seed {seed}: {wrong}", flush=True)
        print(f"{name}: {share} interrupts", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
