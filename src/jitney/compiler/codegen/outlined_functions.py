"""Machine code of functions that kernels call, not inline: of the exact reduction of a huge angle, say.

Each is compiled when a program first needs it, and shared by all programs of the process that have the
same optimization level. They are few: the scalar functions have them, for each width of vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitney.compiler.llvm import engine
from jitney.compiler.llvm.outlined import Outlined
from jitney.core import caches, forking

_codes: dict[tuple[Outlined, int], engine.Code] = {}


def missing(wanted: Mapping[str, Outlined], level: int) -> list[Outlined]:
    """Returns those of the functions `wanted`, and of what they call, without code: callees first."""
    without_code: dict[Outlined, None] = {}

    def visit(functions: Mapping[str, Outlined]) -> None:
        for function in functions.values():
            if (function, level) not in _codes and function not in without_code:
                visit(function.calls)
                without_code[function] = None

    visit(wanted)
    return [*without_code]


def enter(function: Outlined, level: int, emitted: str | bytes) -> None:
    """Loads the code of a function whose callees have theirs."""
    calls = codes(function.calls, level)
    _codes[function, level] = engine.load(emitted, engine.addresses(calls), calls)


def codes(functions: Mapping[str, Outlined], level: int) -> dict[str, engine.Code]:
    """Returns the code of functions that have been entered, by their names."""
    return {name: _codes[function, level] for name, function in functions.items()}


def texts(functions: Mapping[str, Outlined]) -> list[str]:
    """Returns the modules of `functions`, and of those that they call."""
    reached: dict[Outlined, None] = {}
    stack = [*functions.values()]
    while stack:
        function = stack.pop()
        if function not in reached:
            reached[function] = None
            stack += function.calls.values()
    return [function.text for function in reached]


def _clear() -> None:
    """Forgets all; code that calls them keeps them alive."""
    with forking.kernels:
        _codes.clear()


caches.register(
    "code of outlined functions", "the function; optimization level", __name__,
    entries=lambda: len(_codes), clear=_clear,
)  # fmt: skip
