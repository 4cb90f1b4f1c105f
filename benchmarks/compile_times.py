"""How long small loops take to trace and to compile: `python -m benchmarks.compile_times`.

Every dtype, body, shape of the carry and kind of loop, with and without `vmap`: some nine thousand
programs in ten minutes, none of which may take long. Prints those that take longest, with real jax's
time beside, where it is installed. The status is 1 if a program takes more than the limit.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32",
    "complex64",
)  # fmt: skip
SHAPES = ((), (3,), (40,), (5, 8), (2, 3, 4), (2, 2, 3, 4))
LOOPS = ("fori", "scan", "while")
LANES = 5  # of programs under vmap

Body = Callable[[Any, Any, Any], Any]


def _last(c: Any) -> int:
    return max(c.ndim - 1, 0)


def _arithmetic(jnp: Any, lax: Any, c: Any) -> Any:
    return c ^ ~c if c.dtype == bool else c * c + c - 1


def _bits(jnp: Any, lax: Any, c: Any) -> Any:
    if c.dtype.kind in "iu" and c.dtype.itemsize:
        return (c << 1) ^ (c >> 2) | (c % 7)
    return c


def _long(jnp: Any, lax: Any, c: Any) -> Any:
    """Two thousand scalar functions where the carry has eighty scalars."""
    for _ in range(13):
        c = c * c + c[::-1] if c.ndim else c * c + c
    return c


# name -> what an iteration of the loop makes of the carry
BODIES: dict[str, Body] = {
    "max_reversed": lambda jnp, lax, c: jnp.maximum(c, c[::-1]) if c.ndim else jnp.maximum(c, c),
    "arithmetic": _arithmetic,
    "bits": _bits,
    "clip": lambda jnp, lax, c: jnp.clip(c.real, 0, 1).astype(c.dtype),
    "divide": lambda jnp, lax, c: (c / 3).astype(c.dtype),
    "roll": lambda jnp, lax, c: jnp.roll(c, 1),
    "cumsum": lambda jnp, lax, c: jnp.cumsum(c).reshape(c.shape).astype(c.dtype),
    "cummax": lambda jnp, lax, c: lax.cummax(c.real, _last(c)).astype(c.dtype) if c.ndim else c,
    "sort": lambda jnp, lax, c: jnp.sort(c) if c.ndim else c,
    "argsort": lambda jnp, lax, c: jnp.argsort(c.real).astype(c.dtype) if c.ndim else c,
    "where": lambda jnp, lax, c: jnp.where(c == c.reshape(-1)[0], c, jnp.ones_like(c)),
    "dot": lambda jnp, lax, c: jnp.vdot(c, c).astype(c.dtype) + c,
    "outer": lambda jnp, lax, c: jnp.outer(c, c).max(0).reshape(c.shape) if c.dtype != bool else c,
    "concatenate": lambda jnp, lax, c: (
        jnp.concatenate([c[1:], c[:1]]) if c.ndim else jnp.stack([c, c])[0]
    ),
    "gather": lambda jnp, lax, c: jnp.take(c, jnp.arange(c.size)[::-1] // 2).reshape(c.shape),
    "set": lambda jnp, lax, c: c.at[0].set(c[-1]) if c.ndim else c,
    "sum": lambda jnp, lax, c: c + c.sum().astype(c.dtype),
    "argmax": lambda jnp, lax, c: c + jnp.argmax(c.real).astype(c.dtype),
    "functions": lambda jnp, lax, c: jnp.tanh(jnp.exp(c)).astype(c.dtype),
    "median": lambda jnp, lax, c: c + jnp.median(c.real).astype(c.dtype),
    "cast": lambda jnp, lax, c: c.real.astype(np.float32).astype(np.int8).astype(c.dtype),
    "long": _long,
    "any": lambda jnp, lax, c: jnp.where((c > 1).any(), c, c + 1),
}


@dataclass(frozen=True)
class Program:
    """One program of the sweep."""

    body: str
    dtype: str
    shape: tuple[int, ...]
    loop: str
    vmap: bool

    def __str__(self) -> str:
        return f"{self.body} {self.dtype}{list(self.shape)} {self.loop}{' vmap' * self.vmap}"


def programs() -> Iterator[Program]:
    """All of them."""
    for parts in itertools.product(BODIES, DTYPES, SHAPES, LOOPS, (False, True)):
        yield Program(*parts)


def seconds(p: Program, jax: ModuleType, jnp: ModuleType) -> float:
    """Seconds of processors that tracing and compiling `p` takes with one side's modules.

    Other programs of the machine do not count, but all threads of a side do.
    """
    lax, body = jax.lax, BODIES[p.body]

    def step(c: Any) -> Any:
        return body(jnp, lax, c).astype(c.dtype)

    def f(x: Any) -> Any:
        if p.loop == "fori":
            return lax.fori_loop(0, 5, lambda _, c: step(c), x)
        if p.loop == "scan":
            return lax.scan(lambda c, _: (step(c), c), x, None, length=5)
        return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, step(s[1])), (0, x))

    shape = (LANES, *p.shape) if p.vmap else p.shape
    x = jnp.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3).astype(p.dtype)
    function = jax.jit(jax.vmap(f) if p.vmap else f)
    start = time.process_time()
    function.lower(x).compile()
    return time.process_time() - start


def main() -> int:
    """Prints the slowest; the status is 1 if one exceeds the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_times")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds a program may take")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th program only")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many are listed")
    parser.add_argument("--body", help="programs with this body only")
    options = parser.parse_args()

    import jitney
    import jitney.numpy as jnp

    jitney.config.update("jax_enable_compilation_cache", False)
    times: list[tuple[float, Program]] = []
    failed: list[tuple[Program, str]] = []
    for k, p in enumerate(programs()):
        if k % options.every or (options.body and p.body != options.body):
            continue
        try:
            times.append((seconds(p, jitney, jnp), p))
        except Exception as error:
            failed.append((p, f"{type(error).__name__}: {error}"))
    times.sort(key=lambda t: -t[0])
    total = sum(t for t, _ in times)
    over = [t for t, _ in times if t > options.limit]
    print(f"{len(times)} programs in {total:.0f} s; {len(over)} took more than {options.limit} s")
    for p, why in failed[: options.show]:
        print(f"failed: {p}: {why.splitlines()[0][:120]}")
    peer = importlib.import_module("jax") if importlib.util.find_spec("jax") else None
    for t, p in times[: options.show]:
        beside = ""
        if peer is not None:
            theirs = seconds(p, peer, importlib.import_module("jax.numpy"))
            beside = f"; jax {theirs * 1e3:.0f} ms"
        print(f"{t * 1e3:8.0f} ms  {p}{beside}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
