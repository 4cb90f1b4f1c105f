"""The functions that a program compiles, for the commands that show what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.cli import run

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir


def run_and_collect(
    path: str, arguments: Sequence[str], function: str | None
) -> tuple[int, list[ir.Module]]:
    """Runs a program; gives its exit code, and the functions of its own that were compiled, in order.

    Args:
      path, arguments: of the program.
      function: the name of the only function that is asked for; None for all.
    """
    from jitney.inspection import collect

    with collect.compiled_modules() as modules:
        status = run.run_path(path, arguments)
    own = collect.of_user(modules)
    return status, [module for module in own if function in (None, module.name)]
