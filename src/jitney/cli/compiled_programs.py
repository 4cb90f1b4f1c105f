"""The functions that a program compiles, for the commands that show what became of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.cli import run

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir


def run_and_collect(
    command: str, path: str, arguments: Sequence[str], function: str | None
) -> tuple[int, list[ir.Module]]:
    """Runs a program; gives an exit code, and the functions of its own that were compiled, in order.

    The code is the program's, or 1 if it compiled no function, which is said on standard error.

    Args:
      command: which asks.
      path, arguments: of the program.
      function: the name of the only function that is asked for; None for all.
    """
    from jitney.inspection import collect

    with collect.compiled_modules() as modules:
        status = run.run_path(path, arguments)
    own = collect.of_user(modules)
    found = [module for module in own if function in (None, module.name)]
    if not found:
        wanted = "no function" if function is None else f"no function named {function}"
        print(f"jitney {command}: {path} compiled {wanted}", file=sys.stderr)
        status = status or 1
    return status, found
