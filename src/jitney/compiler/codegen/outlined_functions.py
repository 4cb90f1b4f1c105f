"""The machine code of functions that kernels call out of line, such as exact argument reduction.

Each function is compiled when a program first needs it, and is shared by all programs of the
process with the same optimization level. There are few of them: scalar functions define them, one
for each vector width.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitney.compiler.llvm import engine
from jitney.compiler.llvm.outlined import Outlined
from jitney.core.settings import caches
from jitney.core.util import forking

_codes: dict[tuple[Outlined, int], engine.Code] = {}


def missing(wanted: Mapping[str, Outlined], level: int) -> list[Outlined]:
    """Returns the functions that still have to be compiled, callees first.

    These are the functions in `wanted`, and their callees, that have no code yet.
    """
    without_code: dict[Outlined, None] = {}

    def visit(functions: Mapping[str, Outlined]) -> None:
        for function in functions.values():
            if (function, level) not in _codes and function not in without_code:
                visit(function.calls)
                without_code[function] = None

    visit(wanted)
    return [*without_code]


def enter(function: Outlined, level: int, emitted: str | bytes) -> None:
    """Loads the code of a function; its callees must be loaded."""
    calls = codes(function.calls, level)
    _codes[function, level] = engine.load(emitted, engine.addresses(calls), calls)


def codes(functions: Mapping[str, Outlined], level: int) -> dict[str, engine.Code]:
    """Returns the code of loaded functions, by name."""
    return {name: _codes[function, level] for name, function in functions.items()}


def texts(functions: Mapping[str, Outlined]) -> list[str]:
    """Returns the texts of the modules of `functions` and of their callees."""
    reached: dict[Outlined, None] = {}
    stack = [*functions.values()]
    while stack:
        function = stack.pop()
        if function not in reached:
            reached[function] = None
            stack += function.calls.values()
    return [function.text for function in reached]


def _clear() -> None:
    """Empties the cache.

    Code that calls the functions keeps them alive.
    """
    with forking.kernels:
        _codes.clear()


caches.register(
    "code of outlined functions", "the function; optimization level", __name__,
    entries=lambda: len(_codes), clear=_clear,
)  # fmt: skip
