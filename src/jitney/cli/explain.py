"""`jitney explain`: says what the compiled functions of a program do, or what an error means."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import compiled_programs, error_codes, usage

USAGE = """\
usage: jitney explain [--function NAME] program.py [argument ...]
       jitney explain CODE

Runs program.py, then says of each function that it compiled, in the lines of its source, what it does:
its passes over memory, products and library calls, the bytes they move, and why values are stored.

  --function NAME   of the functions of this name alone

With the CODE of an error, as messages give it (bool-of-tracer), prints what it means, and its cures.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; gives the program's exit code, or 1 if no function was compiled."""
    words = list(arguments)
    if len(words) == 1 and error_codes.is_code(words[0]):
        return error_codes.show(words[0])
    function: str | None = None
    if words[:1] == ["--function"] and len(words) > 1:
        function, words = words[1], words[2:]
    if not words or words[0].startswith("-"):
        return usage.show(USAGE, asked=words[:1] in (["-h"], ["--help"]))
    status, modules = compiled_programs.run_and_collect("explain", words[0], words[1:], function)
    if not modules:
        return status
    from jitney.inspection import facts
    from jitney.inspection.explain import Explanation

    for module in modules:
        print(f"\n{Explanation(facts.of_module(module))}")
    return status
