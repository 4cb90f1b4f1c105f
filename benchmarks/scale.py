"""How long programs take as they grow: `python -m benchmarks.scale`. jitney alone, once each.

Real jax takes some 80 s for the gradient of 200 unrolled steps, so it is not timed beside.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

# Programs are compiled, not taken from what an earlier run left on disk.
jax.config.update("jax_enable_compilation_cache", False)


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    jax.block_until_ready(work())
    return time.perf_counter() - start


def _memory() -> float:
    """The most memory that the process has had so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def unrolled(n: int) -> float:
    """First call of the gradient of n unrolled steps on 4x4 matrices."""

    def f(x: Any) -> Any:
        for _ in range(n):
            x = jnp.tanh(x @ x) + 0.1 * x
        return x.sum()

    x = jnp.asarray(0.1 * np.eye(4, dtype=np.float32))
    return _seconds(lambda: jax.jit(jax.grad(f))(x))


def chain(n: int) -> tuple[float, float]:
    """Tracing, and the first call of the gradient, of n equations on 8 numbers."""

    def f(x: Any) -> Any:
        for k in range(n // 2):
            x = jnp.sin(x) if k % 2 else x * 0.5
            x = x + 1.0
        return x.sum()

    x = jnp.ones(8)
    trace = _seconds(lambda: jax.make_jaxpr(f)(x) and x)
    return trace, _seconds(lambda: jax.jit(jax.grad(f))(x))


def loop_body(n: int) -> tuple[float, float]:
    """First call, and nanoseconds for an operation, of a loop of n scalar operations an iteration."""
    iterations = max(2_000_000 // n, 10)

    def step(_: Any, state: Any) -> Any:
        a, b = state
        for _ in range(n // 3):
            a, b = b * 0.999 + 0.5, a
        return a, b

    f = jax.jit(lambda s: lax.fori_loop(0, iterations, step, s))
    state = (jnp.float32(1.0), jnp.float32(2.0))
    first = _seconds(lambda: f(state))
    again = min(_seconds(lambda: f(state)) for _ in range(5))
    return first, again / iterations / (n // 3 * 2) * 1e9


def compilations(n: int) -> tuple[float, float]:
    """Seconds, and MB in use at the end, of n compilations of gradients of new functions."""
    x = jnp.arange(8.0)

    def work() -> Any:
        for k in range(n):
            c = float(k)
            y = jax.jit(jax.grad(lambda x, c=c: (jnp.sin(x * c) + jnp.tanh(x) * c).sum()))(x)
        return y

    seconds = _seconds(work)
    with open("/proc/self/statm") as pages:
        return seconds, int(pages.read().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    """Prints the table."""
    jax.jit(lambda x: x + 1)(jnp.ones(3))
    for n in (1_000, 9_000):
        seconds, memory = compilations(n)
        print(f"{n} compilations: {seconds:.0f} s; {memory:.0f} MB in use")
    before = 0.0
    for n in (100, 200, 400, 1000, 2000):
        seconds = unrolled(n)
        growth = f", {seconds / before:.2f} of the one before" if before else ""
        print(f"grad of {n} unrolled steps, 4x4: {seconds:.2f} s{growth}; {_memory():.0f} MB")
        before = seconds
    for n in (10_000, 100_000):
        trace, first = chain(n)
        times = f"traced in {trace:.2f} s, first gradient in {first:.2f} s"
        print(f"{n} equations: {times}; {_memory():.0f} MB")
    for n in (30, 300, 3000, 12_000):
        first, each = loop_body(n)
        print(
            f"loop of {n} operations an iteration: first call {first:.2f} s, "
            f"then {each:.2f} ns an operation"
        )


if __name__ == "__main__":
    main()
