"""The extension `%load_ext jitney`: `import jax` imports jitney, and `%%jitney` inspects a cell.

The extension also shows values as HTML: jaxprs, lowered and compiled functions, and arrays on
several devices. Formatters are registered with IPython instead of being methods of the classes, so
they are loaded only in notebooks.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from jitney.inspection import collect

if TYPE_CHECKING:
    from jitney.api.jit.stages import Compiled, Lowered
    from jitney.compiler.hlo import ir
    from jitney.core.array import Array
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.types.avals import AbstractValue

_USAGE = """\
usage: %%jitney time | explain | explore | profile

time      runs the cell and prints how much of its time tracing, lowering and compilation took
explain   runs the cell and describes in words what the functions that it compiled do
explore   runs the cell and shows these functions as source, jaxpr, tensor IR, kernels and assembly
profile   runs the cell and prints where its time went, by step and by line
"""
_OPEN_LINES = 40  # longer texts are shown folded


class Formatter(Protocol):
    """A formatter of values as one MIME type."""

    def for_type(self, typ: type, func: Callable[..., str | None]) -> object: ...


class DisplayFormatter(Protocol):
    """The formatters of a shell by MIME type."""

    formatters: dict[str, Formatter]


class Shell(Protocol):
    """The part of the interface of IPython's shell that is used here."""

    display_formatter: DisplayFormatter

    def register_magic_function(
        self, func: Callable[..., object], magic_kind: str, magic_name: str
    ) -> None: ...

    def run_cell(self, raw_cell: str, store_history: bool = ...) -> object: ...


def load_ipython_extension(shell: Shell) -> None:
    """Loads the extension; IPython calls it for `%load_ext jitney`."""
    from jitney.api.jit.stages import Compiled, Lowered
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.install import install_as_jax
    from jitney.runtime.arrays.array import ArrayImpl

    install_as_jax()
    run = partial(_run_cell, shell)
    shell.register_magic_function(run, "cell", "jitney")
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(ClosedJaxpr, jaxpr_html)
    formatter.for_type(Lowered, lowered_html)
    formatter.for_type(Compiled, compiled_html)
    formatter.for_type(ArrayImpl, array_html)


def _run_cell(shell: Shell, line: str, cell: str) -> object:
    """Runs a cell and shows what it did: `%%jitney VERB`."""
    match line.split():
        case ["time"]:
            return _timed(shell, cell)
        case ["explain"]:
            from jitney.inspection import facts
            from jitney.inspection.explain import Explanation

            for module in _modules_of(shell, cell):
                print(f"\n{Explanation(facts.of_module(module))}")
        case ["explore"]:
            from jitney.inspection.page import Exploration

            with collect.clocked_runs() as runs:
                _run(shell, cell)
            return Exploration(runs) if _any(runs) else None
        case ["profile"]:
            from jitney.inspection.profile import profile

            with profile() as report:
                _run(shell, cell)
            return report
        case _:
            print(_USAGE, end="")
    return None


def _run(shell: Shell, cell: str) -> None:
    shell.run_cell(cell, store_history=False)  # shows exceptions, too


def _modules_of(shell: Shell, cell: str) -> list[ir.Module]:
    """Runs a cell, and returns the user's functions that it compiled."""
    with collect.compiled_modules() as modules:
        _run(shell, cell)
    return modules if _any(modules) else []


def _any(compiled: Sequence[object]) -> bool:
    """Returns whether a cell compiled a function, and prints a line if it did not."""
    if not compiled:
        print(
            "The cell compiled no function: its functions had been compiled before, or were not "
            "jitted."
        )
    return bool(compiled)


def _timed(shell: Shell, cell: str) -> None:
    start = time.perf_counter()
    with collect.durations() as durations:
        _run(shell, cell)
    total = time.perf_counter() - start
    parts = [
        f"{kind} {1e3 * seconds:.1f} ms" for kind, seconds in durations.seconds.items() if seconds
    ]
    count = f"{durations.compilations} function{'' if durations.compilations == 1 else 's'}"
    compiled = f"; {', '.join(parts)} of {count}" if parts else ", nothing was compiled"
    print(f"{1e3 * total:.1f} ms{compiled}")


# --- values -------------------------------------------------------------------------------------------


def jaxpr_html(closed: ClosedJaxpr) -> str:
    """Formats a jaxpr: its number of equations, the sizes of arguments and results, its text."""
    types = closed.in_avals, closed.out_avals
    read, written = map(_bytes_of, types)
    count = len(closed.jaxpr.eqns)
    title = f"jaxpr of {count} equation{'' if count == 1 else 's'}: {read} in, {written} out"
    return _folded(title, str(closed))


def lowered_html(lowered: Lowered) -> str:
    """Formats a lowered function: its explanation and its text."""
    from jitney.inspection import facts
    from jitney.inspection.explain import Explanation

    explanation = Explanation(facts.of_module(lowered._lowering.module))
    return _folded(f"lowered {lowered.fun_name}", str(explanation)) + _folded(
        "tensor IR", lowered.as_text("optimized"), is_open=False
    )


def compiled_html(compiled: Compiled) -> str:
    """Formats a compiled function: its memory and its kernels."""
    from jitney.compiler.hlo.partition.text import bytes_text

    memory: Any = compiled.memory_analysis()
    sizes = ", ".join(
        f"{what} {bytes_text(getattr(memory, f'{name}_size_in_bytes'))}"
        for name, what in (("argument", "arguments"), ("output", "results"), ("temp", "temporary"))
    )
    return _folded(f"compiled {compiled.fun_name}: {sizes}", compiled.as_text("kernels"), False)


def array_html(array: Array) -> str | None:
    """Formats an array on several devices with its sharding.

    Returns None for other arrays, which are shown as text.
    """
    devices = array.sharding.device_set
    if len(devices) < 2:
        return None
    part = array.sharding.shard_shape(array.shape)
    title = f"{array.aval.str_short()} on {len(devices)} devices, each {list(part)}"
    return _folded(f"{title}: {array.sharding}", repr(array))


def _folded(title: str, text: str, is_open: bool | None = None) -> str:
    shown = text.count("\n") < _OPEN_LINES if is_open is None else is_open
    return (
        f"<details{' open' if shown else ''}><summary>{html.escape(title)}</summary>"
        f"<pre>{html.escape(text)}</pre></details>"
    )


def _bytes_of(avals: Iterable[AbstractValue]) -> str:
    """Formats the total size of values of these types."""
    from jitney.compiler import lower
    from jitney.compiler.hlo.partition.text import bytes_text

    return bytes_text(sum([lower.tensor_type(aval).nbytes for aval in avals]))
