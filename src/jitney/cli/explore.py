"""`jitney explore`: runs a program, and writes a page of what became of its compiled functions."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.cli import compiled_programs, usage

USAGE = """\
usage: jitney explore [--function NAME] [-o FILE] [--open] program.py [argument ...]

Runs program.py, then writes a page of the functions that it compiled: source, jaxpr, tensor IR,
kernels and assembly side by side, linked line by line; a picture of the fusion; memory in use over
time. The page is one file that needs no network.

  --function NAME   of the functions of this name alone
  -o FILE           the page; explore.html by default
  --open            shows it in the browser
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; gives the program's exit code, or 1 if no function was compiled."""
    words = list(arguments)
    function: str | None = None
    path, opens = "explore.html", False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--open":
            opens = True
        elif option in ("--function", "-o") and words:
            value = words.pop(0)
            function, path = (value, path) if option == "--function" else (function, value)
        else:
            return usage.show(USAGE, asked=option in ("-h", "--help"))
    if not words:
        return usage.show(USAGE, asked=False)
    status, modules = compiled_programs.run_and_collect("explore", words[0], words[1:], function)
    if not modules:
        return status
    from jitney.inspection.page import Exploration

    page = Exploration(modules)
    file = page.open(path) if opens else page.save(path)
    names = ", ".join(dict.fromkeys([program.name for program in page.programs]))
    print(f"\n{file}: {names}")
    return status
