"""`jitney explore`: runs a program, and writes an HTML page about its compiled functions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from jitney.cli import compiled_programs, usage

USAGE = """\
usage: jitney explore program.py [option ...] [--] [argument ...]

Runs program.py, then writes a page of the functions that it compiled: source, jaxpr, tensor IR,
kernels and assembly side by side, linked line by line; a picture of the fusion; memory in use over
time; the steps' times under the roof of the machine. For these, functions that call no Python are run
again, for a third of a second. The page is one file that needs no network.

  --function NAME   only functions of this name
  -o FILE           the page; explore.html by default
  --open            shows it in the browser

In place of program.py there may be -m module, -c code, or - for standard input. Options may follow it,
too; after -- all words are the program's.
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
