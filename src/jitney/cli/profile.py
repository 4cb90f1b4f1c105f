"""`jitney profile`: runs a program and reports where its time went."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import run, usage

USAGE = """\
usage: jitney profile program.py [option ...] [--] [argument ...]

Runs program.py, then prints where its time went: tracing, compilation, Python, and compiled functions,
step by step (kernels, matrix products, library calls, with operations and bytes per second) and line
by line. Also prints which lines use how much memory. Functions are compiled with clocks between their
steps, so they are not loaded from disk.

  -o FILE        writes a page with the source and its times instead of printing
  --open         shows the page in the browser; without -o it is profile.html
  --trace FILE   writes a timeline of the steps for ui.perfetto.dev

program.py can also be -m module, -c code, or - for standard input. Options can also follow it
directly; all words after -- are arguments of the program.
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
