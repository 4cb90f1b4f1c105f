"""The functions that a program compiles, for the commands that show them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.cli import run, usage

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.inspection.collect import Run


def run_and_collect(
    command: str, words: Sequence[str], function: str | None
) -> tuple[run.Ended, list[ir.Module]]:
    """Runs a program; gives how it ended, and the functions of its own that were compiled, in order.

    If it compiled none that is said on standard error.

    Args:
      command: which asks.
      words: the program and its own, see `run.run_words`.
      function: the name of the only function that is asked for; None for all.
    """
    from jitney.inspection import collect

    with collect.compiled_modules() as modules:
        ended = run.run_to_end(words)
    found = [module for module in modules if function in (None, module.name)]
    return _told(ended, found, command, words, function), found


def run_with_clocks(
    command: str, words: Sequence[str], function: str | None
) -> tuple[run.Ended, list[Run]]:
    """The same with what is known of the functions' calls; see `collect.clocked_runs`."""
    from jitney.inspection import collect

    with collect.clocked_runs() as runs:
        ended = run.run_to_end(words)
    found = [each for each in runs if function in (None, each.module.name)]
    return _told(ended, found, command, words, function), found


def _told(
    ended: run.Ended,
    found: Sequence[object],
    command: str,
    words: Sequence[str],
    function: str | None,
) -> run.Ended:
    """How a program ended; with exit code 1 if nothing was found, which is said on standard error."""
    if found or not ended.has_run:
        return ended
    wanted = "no function" if function is None else f"no function named {function}"
    print(f"jitney {command}: {usage.title(words)} compiled {wanted}", file=sys.stderr)
    return run.Ended(1, None) if ended.is_well else ended
