"""`jitney explore`: runs a program and writes an HTML page about its compiled functions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from jitney.cli import compiled_programs, usage

USAGE = """\
usage: jitney explore program.py [option ...] [--] [argument ...]

Runs program.py, then writes a page about the functions that it compiled: source, jaxpr, tensor IR,
kernels and assembly side by side, linked line by line; a diagram of the fusion; the memory in use at
each step; the times of the steps and a roofline plot. To measure these times, functions that do not
call Python are run again for a third of a second. The page is a single file and needs no network.

  --function NAME   only functions with this name
  -o FILE           the file of the page; explore.html by default
  --open            shows the page in the browser

program.py can also be -m module, -c code, or - for standard input. Options can also follow it
directly; all words after -- are arguments of the program.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the program's exit code, or 1 if no function was compiled."""
    try:
        options, words = usage.around_program(USAGE, arguments, {"o": usage.PAGES})
    except ValueError as wrong:
        return usage.refuse(USAGE, wrong)
    function, path = options.get("function"), options.get("o") or os.path.abspath("explore.html")
    if not words:
        return usage.show(USAGE, [])
    ended, runs = compiled_programs.run_with_clocks("explore", words, function)
    if not runs:
        return ended.leave()
    from jitney.inspection.page import Exploration

    page = Exploration(runs)
    file = page.open(path) if "open" in options else page.save(path)
    names = ", ".join(dict.fromkeys([program.title for program in page.programs]))
    print(f"\n{file}: {names}")
    return ended.leave()
