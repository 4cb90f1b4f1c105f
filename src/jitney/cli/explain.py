"""`jitney explain`: describes the compiled functions of a program, or explains an error code."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import compiled_programs, error_codes, usage

USAGE = """\
usage: jitney explain program.py [option ...] [--] [argument ...]
       jitney explain CODE

Runs program.py, then describes each function that it compiled, in terms of its source lines: its
passes over memory, matrix products and library calls, the bytes that they move, and the reasons for
which values are stored.

  --function NAME   only functions with this name

program.py can also be -m module, -c code, or - for standard input. Options can also follow it
directly; all words after -- are arguments of the program.

With the CODE from an error message, such as bool-of-tracer, explains the error and how to fix it.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the program's exit code, or 1 if no function was compiled."""
    words = list(arguments)
    if len(words) == 1 and error_codes.is_code(words[0]):
        return error_codes.show(words[0])
    try:
        options, words = usage.around_program(USAGE, words)
    except ValueError as wrong:
        return usage.refuse(USAGE, wrong)
    if not words:
        return usage.show(USAGE, [])
    ended, modules = compiled_programs.run_and_collect("explain", words, options.get("function"))
    if not modules:
        return ended.leave()
    from jitney.inspection import explain, facts

    for text in explain.summaries(map(facts.of_module, modules)):
        print(f"\n{text}")
    return ended.leave()
