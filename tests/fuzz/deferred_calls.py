"""Random calls that are all deferred: their results are those of calls that are not.

    PYTHONPATH=src python -m tests.fuzz.deferred_calls --runs 1000 --seed 1

A run is a random sequence of actions on a few arrays: calls of functions of several shapes and numbers
of results, donation, deletion, dropped results, NumPy arguments, callbacks, reads of all kinds. Beside
each array there is its value, which the same functions have computed at once. Runs are done by the
main thread or by several threads, while alarms interrupt the main thread, processes fork, the cycle
collector runs, and calls are deferred from other thresholds. A process ends with a traceback of all
threads where a run takes too long; it reports how much memory it has come to use.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import resource
import signal
import sys
import time
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.core.diagnostics.errors import interrupted_call_error
from jitney.runtime.native import _native

SIZES = (1, 7, 300, 5000)
INTERRUPTED = 16  # parts of a run of which an alarm interrupts each


class Interrupt(BaseException):
    """What the handler of the alarm raises."""


def defer_from(nanoseconds: int | None) -> None:
    """Sets how long a program's last call took for the next one to be deferred."""
    _native.defer_calls_from(nanoseconds, interrupted_call_error)


# --- programs ---------------------------------------------------------------------------------------


def _called(x: Any) -> Any:
    """Computes what callbacks return, partly by calls of its own."""
    return np.asarray(FUNCTIONS["scale"](jnp.asarray(x), 0.5)) if len(x) < 10 else np.asarray(x) / 2


def _slow(x: Any) -> Any:
    return lax.fori_loop(0, 3000, lambda i, c: c * 0.75 + 0.1, x)


def _calling(x: Any) -> Any:
    return jax.pure_callback(_called, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1


# Of arrays of one size, with as many results as the names say.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "scale": jax.jit(lambda x, s: x * s),
    "wave": jax.jit(lambda x: jnp.sin(x) * 2),
    "slow": jax.jit(_slow),
    "sorted": jax.jit(lambda x: jnp.sort(x)[::-1]),
    "sums": jax.jit(lambda x: jnp.cumsum(x) % 3),
    "scan": jax.jit(lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.float32(0), x)[1]),
    "calling": jax.jit(_calling),
    "step": jax.jit(lambda x: x * 0.5 + 1, donate_argnums=0),
    "add": jax.jit(lambda x, y: x + y * 0.25),
    "merge": jax.jit(lambda x, y: x - y * 0.25, donate_argnums=(0, 1)),
    "two": jax.jit(lambda x: (x + 1, {"a": x * -0.5})),
    "swap": jax.jit(lambda x, y: (y * 0.5, x + 0.5), donate_argnums=(0, 1)),
}
NUMBER = {"add": 2, "merge": 2, "swap": 2}  # of arrays that they take
GIVEN = {"step": (0,), "merge": (0, 1), "swap": (0, 1)}


def at_once(name: str, values: list[np.ndarray], *rest: float) -> list[np.ndarray]:
    """Results of a function as it computes them when nothing is deferred."""
    key = (name, *(v.tobytes() for v in values), *rest)
    found = _known.get(key)
    if found is None:
        found = [
            np.array(x) for x in jax.tree.leaves(FUNCTIONS[name](*map(np.array, values), *rest))
        ]
        if len(_known) > 2000:
            _known.clear()
        _known[key] = found
    return found


_known: dict[Any, list[np.ndarray]] = {}


def compile_all() -> None:
    """Calls each function on each size, so that native code knows the signatures."""
    for size in SIZES:
        for name, f in FUNCTIONS.items():
            for make in (jnp.asarray, np.array):
                for _ in range(2):
                    args = [make(np.ones(size, np.float32)) for _ in range(NUMBER.get(name, 1))]
                    jax.block_until_ready(f(*args, *([0.5] if name == "scale" else [])))


# --- runs -------------------------------------------------------------------------------------------


class Wrong(Exception):
    """A result is not what it is to be."""


def _same(x: Any, value: np.ndarray) -> None:
    got = np.asarray(x)
    if got.shape != value.shape or got.tobytes() != value.tobytes():
        raise Wrong(f"{got.ravel()[:5]} instead of {value.ravel()[:5]}")


READS: tuple[Callable[[Any, np.ndarray], None], ...] = (
    _same,
    lambda x, value: _same(memoryview(x), value),
    lambda x, value: _same(x.block_until_ready(), value),
    lambda x, value: _same(x + x, value + value),
    lambda x, value: _same(x[0], value[0]),
    lambda x, value: _same(jnp.float32(float(x[-1])), value[-1]),
    lambda x, value: _same(np.from_dlpack(x), value),
    lambda x, value: _same(x.tolist(), value.astype(np.float64)),
)


class Run:
    """Some arrays, each with its value; what is done to them is chosen by a seed."""

    def __init__(self, seed: str, counts: Counter[str], *, is_main: bool) -> None:
        self.choose = random.Random(seed)
        self.counts = counts
        self.is_main = is_main
        self.size = self.choose.choice(SIZES)
        self.pairs: list[tuple[Any, np.ndarray]] = []
        self.deleted: list[Any] = []

    def do(self, actions: int) -> None:
        """Does some actions, and compares what is left."""
        for _ in range(actions):
            if not self.pairs:
                self.add_array()
            action = self.choose.choices(list(_ACTIONS), list(_ACTIONS.values()))[0]
            self.counts[action] += 1
            getattr(self, action)()
            while len(self.pairs) > 8:
                self.pairs.pop(self.choose.randrange(len(self.pairs)))
        for x, value in self.pairs:
            _same(x, value)
        for x in self.deleted:
            try:
                np.asarray(x)
            except RuntimeError as error:
                if "deleted" not in str(error) and "donated" not in str(error):
                    raise
            else:
                raise Wrong("a deleted array was read")

    def add_array(self) -> None:
        """Adds an array that is there."""
        value = np.float32([self.choose.uniform(-2, 2) for _ in range(min(self.size, 300))])
        value = np.resize(value, self.size)
        self.pairs.append((jnp.asarray(value.copy()), value))

    def call(self) -> None:
        """Calls a function; its results may be dropped, and one array may stand for two arguments."""
        name = self.choose.choice(list(FUNCTIONS))
        given = GIVEN.get(name, ())
        picked = [self.choose.choice(self.pairs) for _ in range(NUMBER.get(name, 1))]
        if given and len(picked) == 2 and picked[0][0] is picked[1][0]:
            return
        rest = [self.choose.choice((0.5, -1.25))] if name == "scale" else []
        args, written = [], []
        for x, value in picked:
            if not given and self.choose.random() < 0.1:
                written.append(value.copy())
                args.append(written[-1])
            else:
                args.append(x)
        if given:
            self.pairs = [p for p in self.pairs if all(p[0] is not q[0] for q in picked)]
        expected = at_once(name, [value for _, value in picked], *rest)
        found = jax.tree.leaves(FUNCTIONS[name](*args, *rest))
        for x in written:
            x[:] = 7
        if given and self.choose.random() < 0.2:
            # An array that no result can lie in is not given up.
            self.deleted += [x for x, _ in picked if x.is_deleted()]
        if self.choose.random() < 0.9:
            self.pairs += zip(found, expected, strict=True)

    def chain(self) -> None:
        """Makes a chain of calls that is longer than the queue."""
        name = self.choose.choice(("wave", "step", "slow", "sorted", "sums"))
        x, value = self.pairs.pop(self.choose.randrange(len(self.pairs)))
        for _ in range(self.choose.randrange(2, 24)):
            x, (value,) = FUNCTIONS[name](x), at_once(name, [value])
        self.pairs.append((x, value))

    def read(self) -> None:
        """Reads an array in one way or another."""
        x, value = self.choose.choice(self.pairs)
        self.choose.choice(READS)(x, value)

    def delete(self) -> None:
        """Deletes an array."""
        x, _ = self.pairs.pop(self.choose.randrange(len(self.pairs)))
        x.delete()
        self.deleted.append(x)

    def drop(self) -> None:
        """Lets go of an array, perhaps in a cycle or with a function that is called for it."""
        x, _ = self.pairs.pop(self.choose.randrange(len(self.pairs)))
        if self.choose.random() < 0.3:
            cycle: list[Any] = [x]
            cycle.append(cycle)
        elif self.choose.random() < 0.3 and self.pairs:
            other = self.pairs[0]
            weakref.finalize(x, lambda: _same(*other))

    def collect(self) -> None:
        """Runs the cycle collector."""
        gc.collect(self.choose.randrange(3))

    def set_threshold(self) -> None:
        """Sets which calls are deferred from now on."""
        defer_from(self.choose.choice((0, 0, 0, 20_000, 1_000_000, None)))

    def fork(self) -> None:
        """Forks; the child reads what the parent has, and makes calls of its own."""
        # What a handler raises in functions that run before and after forks is dropped with the rest of
        # the function: locks would stay locked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        try:
            child = os.fork()
            if child == 0:
                _run_child(self)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _, status = os.waitpid(child, 0)
        if status:
            raise Wrong(f"a child has ended with {status}")

    def wait(self) -> None:
        """Lets the queue's thread run."""
        time.sleep(self.choose.random() * 0.002)


# What is done, and how often.
_ACTIONS = {
    "add_array": 3, "call": 30, "chain": 4, "read": 8, "delete": 2, "drop": 3, "collect": 0.2,
    "set_threshold": 0.5, "fork": 0.05, "wait": 1,
}  # fmt: skip


def _run_child(run: Run) -> None:
    """Ends a child with 0 if all is well there."""
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # faulthandler does not survive forks
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        signal.alarm(60)
        for x, value in run.pairs:
            _same(x, value)
            _same(FUNCTIONS["wave"](x), at_once("wave", [value])[0])
        status = 0
    except BaseException as error:
        print(f"in a child: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _interrupted(run: Run, actions: int) -> None:
    """Does a run of which an alarm ends some waits: only its own results may be missing afterwards."""
    mine: list[Any] = []

    def ring(number: int, frame: object) -> None:
        if mine:
            mine.clear()
            raise Interrupt
        run.counts["alarms that do not raise"] += 1

    signal.signal(signal.SIGALRM, ring)
    for _ in range(actions):
        seconds = 1e-5 + run.choose.random() ** 3 * 0.02
        try:
            mine.append(1)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            run.do(3)
            mine.clear()
        except Interrupt:
            run.counts["interrupts"] += 1
        except RuntimeError as error:
            mine.clear()
            if "was interrupted by Interrupt" not in str(error):
                raise
            run.counts["interrupted results"] += 1
        mine.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        _forget_interrupted(run)


def _forget_interrupted(run: Run) -> None:
    """Lets go of arrays that an interrupt has left without data; the rest have theirs."""
    kept = []
    for x, value in run.pairs:
        try:
            _same(x, value)
            kept.append((x, value))
        except RuntimeError as error:
            if not any(word in str(error) for word in ("interrupted by", "deleted", "donated")):
                raise
            run.counts["interrupted results"] += 1
    run.pairs, run.deleted = kept, []


def _in_threads(seed: str, counts: Counter[str], n: int) -> None:
    """Does several runs at a time."""

    def work(k: int) -> None:
        Run(f"{seed} {k}", counts, is_main=False).do(25)

    with ThreadPoolExecutor(n) as pool:
        list(pool.map(work, range(n)))


def _memory() -> float:
    """Megabytes of memory in use."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * resource.getpagesize() / 2**20


def run_all(runs: int, seed: int, seconds: float) -> Counter[str]:
    """Does some runs; raises if a result is wrong, and ends the process if one takes too long."""
    counts: Counter[str] = Counter()
    unraised: list[Any] = []
    sys.unraisablehook = unraised.append  # of finalizers: an interrupt there is lost
    defer_from(None)
    compile_all()
    memory = []
    for k in range(runs):
        faulthandler.dump_traceback_later(seconds, exit=True)
        now = f"{seed} {k}"
        kind = random.Random(now).choices(("alone", "threads", "alarms"), (5, 2, 3))[0]
        counts[kind] += 1
        defer_from(0)
        try:
            if kind == "threads":
                _in_threads(now, counts, 2 + k % 4)
            elif kind == "alone":
                Run(now, counts, is_main=True).do(40)
            else:
                _interrupted(Run(now, counts, is_main=True), INTERRUPTED)
        except BaseException:
            print(f"run {k} ({kind}) of seed {seed}:", file=sys.stderr)
            raise
        wrong = [x for x in unraised if not isinstance(x.exc_value, Interrupt)]
        wrong = [x for x in wrong if "interrupted by" not in str(x.exc_value)]
        if wrong:
            raise Wrong(f"in run {k} of seed {seed}, unraisable: {wrong[0]}") from wrong[
                0
            ].exc_value
        unraised.clear()
        if k in (runs // 4, runs - 1):
            _known.clear()
            gc.collect()
            memory.append(_memory())
    faulthandler.cancel_dump_traceback_later()
    print(f"{memory[0]:.1f} MB after a quarter of the runs, {memory[-1]:.1f} MB at the end")
    return counts


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=120, help="that a run may take before it counts as a hang"
    )
    options = parser.parse_args()
    faulthandler.enable()
    counts = run_all(options.runs, options.seed, options.seconds)
    print(f"{options.runs} runs: " + ", ".join(f"{n} {what}" for what, n in counts.most_common()))


if __name__ == "__main__":
    main()
