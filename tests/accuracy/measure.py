"""Measures the math functions: `python -m tests.accuracy.measure [--all-f32] [names...]`.

Prints the largest error of each function and its time per element. With `--all-f32`, functions of
one f32 operand are tried on every number there is (some minutes each).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from tests.accuracy.harness import Loop, samples, ulps
from tests.accuracy.reference import REFERENCES, domain

from jitney.compiler.llvm.target import X86_AVX2, X86_SSE4, Target, host
from jitney.compiler.scalar import table


def compiled(
    fn: str, dtype: np.dtype, target: Target | None = None, lanes: int | None = None
) -> Loop:
    """A loop that applies `fn`."""
    operands = [dtype] * REFERENCES[fn][1]
    return Loop(lambda e, xs: table.emit(e, fn, dtype, xs, dtype), operands, dtype, target, lanes)


def worst(fn: str, loop: Loop, arrays: list[np.ndarray]) -> tuple[float, list[np.generic]]:
    """The largest error, and where it is."""
    with np.errstate(all="ignore"):
        want = REFERENCES[fn][0](*[x.astype(np.longdouble) for x in arrays])
    errors = ulps(loop(*arrays), want)
    at = int(np.argmax(errors))
    return float(errors[at]), [x[at] for x in arrays]


def every_f32() -> Iterator[np.ndarray]:
    """All numbers, in pieces."""
    step = 1 << 22
    for start in range(0, 1 << 32, step):
        yield np.arange(start, start + step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def main(arguments: list[str]) -> None:
    """The program."""
    every = "--all-f32" in arguments
    names = [a for a in arguments if not a.startswith("-")] or list(REFERENCES)
    targets = [("host", host()), ("avx2", X86_AVX2), ("sse4", X86_SSE4)]
    for fn in names:
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            for label, target in targets:
                loop = compiled(fn, dtype, target)
                arrays = [samples(dtype, 400_000, seed) for seed in range(REFERENCES[fn][1])]
                inside = domain(fn, *arrays)
                error, at = worst(fn, loop, [x[inside] for x in arrays])
                bench = [np.random.default_rng(0).normal(size=1 << 13).astype(dtype)] * len(arrays)
                ns = loop.seconds_per_element(*bench) * 1e9
                print(
                    f"{fn:10} {dtype.name} {label:5} {error:7.3f} ulp {ns:7.3f} ns  at {at}",
                    flush=True,
                )
        if every and REFERENCES[fn][1] == 1:
            loop = compiled(fn, np.dtype(np.float32))
            error, at = max(
                (worst(fn, loop, [x[domain(fn, x)]]) for x in every_f32()), key=lambda t: t[0]
            )
            print(f"{fn:10} every float32 {error:7.3f} ulp at {at}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
