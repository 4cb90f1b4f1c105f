"""Machine code of functions that kernels call, not inline: of the exact reduction of a huge angle, say.

Each is compiled when a program first needs it, and shared by all programs of the process. They are few:
the scalar functions have them, for each width of vectors.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitney.compiler.llvm import engine
from jitney.compiler.llvm.emit import Outlined
from jitney.core import caches, forking

_codes: dict[Outlined, engine.Code] = {}


def codes(wanted: Mapping[str, Outlined]) -> dict[str, engine.Code]:
    """The code of the functions `wanted`, compiled where there is none yet, by their names."""
    with forking.kernels:
        return {name: _code(function) for name, function in wanted.items()}


def _code(function: Outlined) -> engine.Code:
    code = _codes.get(function)
    if code is None:
        calls = codes(function.calls)
        code, _ = engine.compile_text(function.text, engine.addresses(calls), calls)
        _codes[function] = code
    return code


def texts(functions: Mapping[str, Outlined]) -> list[str]:
    """The modules of `functions`, and of those that they call."""
    found: dict[Outlined, None] = {}
    stack = [*functions.values()]
    while stack:
        function = stack.pop()
        if function not in found:
            found[function] = None
            stack += function.calls.values()
    return [function.text for function in found]


def _clear() -> None:
    """Forgets all; code that calls them keeps them alive."""
    with forking.kernels:
        _codes.clear()


caches.register(
    "code of outlined functions", "the function", __name__,
    entries=lambda: len(_codes), clear=_clear,
)  # fmt: skip
