"""How a command says how it is used."""

from __future__ import annotations

import sys


def show(usage: str, *, asked: bool) -> int:
    """Prints a command's usage, to standard error unless the user asked; gives the exit code."""
    print(usage, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2
