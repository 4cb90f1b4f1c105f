"""`jitney profile`: runs a program, and says where its time went."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import run, usage

USAGE = """\
usage: jitney profile program.py [argument ...]

Runs program.py, then prints where its time went: tracing, compilation, Python, and compiled functions
step by step (kernels, products, library calls, with operations and bytes a second) and line by line.
Compiled functions have clocks between their steps, and are compiled anew, not read from disk.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; gives the program's exit code."""
    words = list(arguments)
    if not words or words[0].startswith("-"):
        return usage.show(USAGE, asked=words[:1] in (["-h"], ["--help"]))
    from jitney.inspection.profile import profile

    with profile() as found:
        status = run.run_path(words[0], words[1:])
    print(f"\n{words[0]}: {found}")
    return status
