"""Functions that run a program and collect the functions that it compiles."""

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
    """Runs a program; returns how it ended, and the functions that it compiled, in order.

    If no function was compiled, this is reported on standard error.

    Args:
      command: the name of the command, for the report.
      words: the program and its arguments, as for `run.run_words`.
      function: the name of the functions to select; None for all.
    """
    from jitney.inspection import collect

    with collect.compiled_modules() as modules:
        ended = run.run_to_end(words)
    selected = [module for module in modules if function in (None, module.name)]
    return _report_if_none(ended, selected, command, words, function), selected


def run_with_clocks(
    command: str, words: Sequence[str], function: str | None
) -> tuple[run.Ended, list[Run]]:
    """Like `run_and_collect`, but returns the records of `collect.clocked_runs`.

    If the program was interrupted, its functions are not run again: a call can take long.
    """
    from jitney.inspection import collect

    with collect.clocked_runs() as runs:
        ended = run.run_to_end(words)
    if isinstance(ended.error, KeyboardInterrupt):
        for each in runs:
            each.arguments = None
    selected = [each for each in runs if function in (None, each.module.name)]
    return _report_if_none(ended, selected, command, words, function), selected


def _report_if_none(
    ended: run.Ended,
    selected: Sequence[object],
    command: str,
    words: Sequence[str],
    function: str | None,
) -> run.Ended:
    """Returns how a program ended; if nothing was selected, reports that with exit code 1."""
    if selected or not ended.has_run:
        return ended
    subject = "no function" if function is None else f"no function named {function}"
    print(f"jitney {command}: {usage.title(words)} compiled {subject}", file=sys.stderr)
    return run.Ended(1, None) if ended.is_well else ended
