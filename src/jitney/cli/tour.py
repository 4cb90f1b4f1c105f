"""`jitney tour`: traces, compiles and times three programs.

For each program it shows the jaxpr, the times of NumPy, of eager and of compiled code (first and
later calls), and where the time of the first call went. For the first program, or with `--all` for
each, it also shows the kernels into which the operations are fused, and the assembly of the busiest
loop.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.cli import usage
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import Array

USAGE = """\
usage: jitney tour [--all]

Shows in ten seconds how three programs become machine code, and how fast they are: the jaxprs, the
kernels and the busiest loop of the first program (with --all: of each), and times next to NumPy's.
"""
REPEATS = 15  # timed later calls, of which the median is shown
# Seconds to wait before them: the BLAS libraries of NumPy and SciPy have thread pools that spin for
# a while after each product and thus occupy processors that the other library needs.
PAUSE = 0.15
WARM_UP = 0.02  # seconds of untimed calls


@record(frozen=True)
class Program:
    """One program of the tour: a function, its NumPy equivalent, and its arguments."""

    name: str
    what: str
    function: Callable[..., Any]
    by_numpy: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


def selu(x: Array, alpha: float = 1.67, lmbda: float = 1.05) -> Array:
    """Returns lmbda * (x where x > 0, alpha * (exp(x) - 1) elsewhere)."""
    import jitney.numpy as jnp

    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def _selu_by_numpy(x: np.ndarray) -> np.ndarray:
    alpha, lmbda = np.float32(1.67), np.float32(1.05)
    return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)


def sum_squared_error(x: Array, y: Array) -> Array:
    """Returns the sum of the squared differences."""
    import jitney.numpy as jnp

    return jnp.sum((x - y) ** 2)


def covariance(x: Array) -> Array:
    """Returns the covariance matrix of the columns, times the number of rows."""
    return x.T @ (x - x.mean(0))


def _million() -> tuple[Array, ...]:
    import jitney

    return (jitney.random.normal(jitney.random.key(0), (1_000_000,)),)


def _two_squares() -> tuple[Array, ...]:
    import jitney

    keys = jitney.random.split(jitney.random.key(0))
    return tuple(jitney.random.normal(k, (500, 500)) for k in keys)


def _one_square() -> tuple[Array, ...]:
    import jitney

    return (jitney.random.normal(jitney.random.key(0), (1000, 1000)),)


PROGRAMS = (
    Program("selu", "SELU of a million numbers", selu, _selu_by_numpy, _million),
    Program(
        "sum_squared_error",
        "the squared distance of two 500 x 500 matrices",
        sum_squared_error,
        lambda x, y: ((x - y) ** 2).sum(),
        _two_squares,
    ),
    Program(
        "covariance",
        "x.T @ (x - x.mean(0)) of a 1000 x 1000 matrix",
        covariance,
        lambda x: x.T @ (x - x.mean(0)),
        _one_square,
    ),
)


@record
class Times:
    """The times of one program, in seconds."""

    name: str
    numpy: float
    eager: float
    first: float
    later: float
    stages: dict[str, float]


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _median(call: Callable[[], Any]) -> float:
    time.sleep(PAUSE)
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP:
        call()
    return float(np.median([_timed(call) for _ in range(REPEATS)]))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


_LABEL = re.compile(r"^\s*(\.?LBB\w+):")
_JUMP = re.compile(r"^\s+(?:j\w+|b\.\w+|b|cbnz|tbnz)\s+.*?(\.?LBB\w+)$")
_VECTOR = re.compile(r"%[xyz]mm\d|\bv\d+\.")


def busiest_loop(assembly: str) -> str:
    """Returns the loop with the largest share of vector instructions; "" if there is no loop.

    Args:
      assembly: the x86-64 or AArch64 assembly that LLVM prints.
    """
    lines = assembly.splitlines()
    labels: dict[str, int] = {}
    loops: list[list[str]] = []
    for number, line in enumerate(lines):
        if match := _LABEL.match(line):
            labels[match[1]] = number
        elif (match := _JUMP.match(line)) and match[1] in labels:
            loops.append(lines[labels[match[1]] : number + 1])

    def share(loop: list[str]) -> float:
        return sum([bool(_VECTOR.search(line)) for line in loop]) / len(loop)

    return "\n".join(max(loops, key=share)) if loops else ""


def _visit(program: Program, show_code: bool) -> tuple[Times, bool]:
    """Runs one program; returns its times and whether its result agrees with NumPy's."""
    import jitney

    arguments = program.arguments()
    arrays = [np.asarray(a) for a in arguments]
    print(f"\n{program.name}: {program.what}\n")
    print(textwrap.indent(str(jitney.make_jaxpr(program.function)(*arguments)), "    "))

    def wait(call: Callable[..., Any]) -> Callable[[], object]:
        return lambda: jitney.block_until_ready(call(*arguments))

    jitted = jitney.jit(program.function)
    first = _timed(wait(jitted))
    # The same stages once more, one by one, without the caches of the first call.
    jitney.clear_caches()
    stages = jitney.jit(lambda *args: program.function(*args)).lower(*arguments).compile().timings()
    if show_code:
        lowered = jitted.lower(*arguments)
        print("\nits kernels, after fusion:\n")
        print(textwrap.indent(lowered.as_text("kernels").strip(), "    "))
        print("\nthe machine code of their busiest loop:\n")
        print(textwrap.indent(busiest_loop(lowered.as_text("asm")), "    ").expandtabs(8))
    times = Times(
        program.name,
        _median(lambda: program.by_numpy(*arrays)),
        _median(wait(program.function)),
        first,
        _median(wait(jitted)),
        stages,
    )
    right = np.allclose(jitted(*arguments), program.by_numpy(*arrays), rtol=1e-3, atol=1e-2)
    return times, bool(right)


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the tour; returns the exit code, 1 if a result differs from NumPy's."""
    if not set(arguments) <= {"--all"}:
        return usage.refuse_word(USAGE, [word for word in arguments if word != "--all"])
    import jitney
    from jitney.runtime.devices import device

    print(
        f"jitney {jitney.__version__} on {platform.machine()}, {device.thread_count()} threads, "
        f"NumPy {np.__version__}"
    )
    # The tour shows how programs are compiled, so it does not read the persistent cache.
    jitney.config.update("jax_enable_compilation_cache", False)
    visits = [_visit(p, p is PROGRAMS[0] or "--all" in arguments) for p in PROGRAMS]
    print("\nMilliseconds (the first call traces and compiles; the others are medians):\n")
    print(f"    {'':20}{'NumPy':>10}{'eager':>10}{'first call':>12}{'later':>10}")
    for t, _ in visits:
        cells = [_milliseconds(s) for s in (t.numpy, t.eager, t.first, t.later)]
        print(f"    {t.name:20}{cells[0]:>10}{cells[1]:>10}{cells[2]:>12}{cells[3]:>10}")
    names = list(visits[0][0].stages)
    print(
        "\nWhere the time of a first call goes, in milliseconds (if its kernels are compiled "
        "already):\n"
    )
    print(f"    {'':20}" + "".join(f"{n:>10}" for n in names))
    for t, _ in visits:
        cells = "".join(f"{_milliseconds(t.stages.get(n, 0.0)):>10}" for n in names)
        print(f"    {t.name:20}{cells}")
    print(
        "\nThe first compilation in a process also loads LLVM. Outside of this tour, compiled programs"
        "\nare kept on disk, and later processes load them without LLVM."
    )
    print(
        "Continue with docs/path_of_a_program.md. To run a program that imports jax:\n\n    "
        f"{os.path.relpath(sys.executable)} -m jitney program.py"
    )
    wrong = [t.name for t, right in visits if not right]
    if wrong:
        print(f"\nResults that differ from NumPy's: {', '.join(wrong)}")
    return 1 if wrong else 0
