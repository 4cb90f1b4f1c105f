"""`jitney tour`: one function on its way to machine code, step by step, with what each step took."""

from __future__ import annotations

import inspect
import platform
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SHAPE = (256, 512)
HEAD = 24  # lines shown of the long texts


def softmax(x: Any) -> Any:
    """The function of the tour; `x`: float32[256,512]."""
    import jitney.numpy as jnp

    shifted = jnp.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def _softmax_by_numpy(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def _seconds(call: Callable[[], Any]) -> float:
    """The least of 100 calls, in seconds; the first, which warms up, is not counted."""
    call()
    best = float("inf")
    for _ in range(100):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _title(number: int, text: str) -> None:
    print(f"\n--- {number}. {text}\n")


def _show(text: str, head: int | None = None) -> None:
    lines = text.rstrip().splitlines()
    shown = lines if head is None else lines[:head]
    print(textwrap.indent("\n".join(shown), "    "))
    if len(lines) > len(shown):
        print(f"    ... {len(lines) - len(shown)} more lines")


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the tour; `--all` shows long texts whole. Gives the exit code: 1 for a wrong result."""
    head = None if "--all" in arguments else HEAD
    import jitney

    x = np.random.default_rng(0).standard_normal(SHAPE, dtype=np.float32)
    jitted = jitney.jit(softmax)

    _title(1, "A Python function of arrays")
    _show(inspect.getsource(softmax))

    _title(2, "Traced: a jaxpr. Called with stand-ins for arrays, it has left a list of operations")
    lowered = jitted.lower(x)
    _show(lowered.as_text("jaxpr"), head)

    _title(3, "Lowered: the compiler's tensor operations")
    _show(lowered.as_text("hlo"), head)

    _title(4, "Fused: loops over blocks of memory. What is computed in one pass is one kernel")
    _show(lowered.as_text("kernels"), head)

    _title(5, "LLVM's language")
    _show(lowered.as_text("llvm"), head)

    _title(6, f"Machine code, for this {platform.machine()} processor")
    asm = lowered.as_text("asm")
    _show(asm[asm.find("\nk0:") + 1 :], head)  # constants come first

    _title(7, "Run")
    compiled = lowered.compile()
    result, expected = np.asarray(jitted(x)), _softmax_by_numpy(x)
    error = float(np.max(np.abs(result - expected) / np.spacing(expected)))
    as_array = jitney.device_put(x)
    for stage, seconds in compiled.timings().items():
        print(f"    {stage:18s} {seconds * 1e3:8.1f} ms")
    print(f"    a call             {_seconds(lambda: jitted(as_array)) * 1e6:8.1f} us")
    print(f"    NumPy, the same    {_seconds(lambda: _softmax_by_numpy(x)) * 1e6:8.1f} us")
    print(f"    largest difference from NumPy: {error:.1f} units in the last place")

    print(
        "\nRead on in docs/path_of_a_program.md. `jitney program.py` runs a program that imports jax."
    )
    return 0 if error < 16 else 1
