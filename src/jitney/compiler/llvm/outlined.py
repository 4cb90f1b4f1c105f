"""Functions in separate modules, which are shared by all modules of the process."""

from __future__ import annotations

from jitney.compiler.llvm.target import Target
from jitney.core.settings import caches
from jitney.core.util.record import record


@record(frozen=True, eq=False)
class Outlined:
    """A function in a separate module.

    Attributes:
      name: its symbol, which encodes everything on which the function depends.
      text: the text of the module.
      calls: the functions of other modules that it calls.
    """

    name: str
    text: str
    calls: dict[str, Outlined]


known: dict[tuple[Target, str], Outlined] = {}

caches.register(
    "outlined functions", "the processor; the symbol, which encodes the types", __name__,
    entries=lambda: len(known), clear=known.clear,
)  # fmt: skip
