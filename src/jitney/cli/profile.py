"""`jitney profile`: runs a program, and reports where its time went."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import run, usage

USAGE = """\
usage: jitney profile program.py [option ...] [--] [argument ...]

Runs program.py, then prints where its time went: tracing, compilation, Python, and compiled functions
step by step (kernels, products, library calls, with operations and bytes a second) and line by line;
and which lines' values take memory. Compiled functions have clocks between their steps, and are
compiled again, not read from disk.

  -o FILE        writes a page of it, with the source and its times, in place of printing
  --open         shows the page in the browser; profile.html by default
  --trace FILE   writes when each step ran, for ui.perfetto.dev

In place of program.py there may be -m module, -c code, or - for standard input. Options may follow it,
too; after -- all words are the program's.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the program's exit code."""
    try:
        options, words = usage.around_program(USAGE, arguments, {"o": usage.PAGES, "trace": ()})
    except ValueError as wrong:
        return usage.refuse(USAGE, wrong)
    path, trace = options.get("o", ""), options.get("trace", "")
    if not words:
        return usage.show(USAGE, [])
    from jitney.inspection.profile import profile

    with profile(timeline=bool(trace)) as report:
        ended = run.run_to_end(words)
    if not ended.has_run:
        return ended.leave()
    if "open" in options:
        print(f"\n{report.open(path or None)}")
    elif path:
        print(f"\n{report.save(path)}")
    else:
        print(f"\n{usage.title(words)}: {report}")
    if trace:
        print(f"\n{report.save_timeline(trace)}: for ui.perfetto.dev")
    return ended.leave()
