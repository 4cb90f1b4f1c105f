"""Explains errors by the codes in their messages: `jitney explain bool-of-tracer`."""

from __future__ import annotations

import difflib
import importlib.resources
import os
import re
import sys

_CODE = re.compile(r"[a-z]+(-[a-z]+)*")
_SECTION = re.compile(r"^## ([a-z-]+)\n(.*?)(?=^## |\Z)", re.M | re.S)


def is_code(word: str) -> bool:
    """Returns whether `word` looks like an error code and does not name an existing file."""
    return _CODE.fullmatch(word) is not None and not os.path.exists(word)


def sections() -> dict[str, str]:
    """Returns the sections of the page on errors by their codes."""
    page = importlib.resources.files("jitney.cli").joinpath("errors.md").read_text("utf-8")
    return {code: text.strip() for code, text in _SECTION.findall(page)}


def show(code: str) -> int:
    """Prints the section of a code; returns the exit code of the command."""
    known = sections()
    if code in known:
        print(f"{code}\n{'-' * len(code)}\n{known[code]}")
        return 0
    near = difflib.get_close_matches(code, known, 1)
    meant = f"did you mean {near[0]}?" if near else f"error codes: {', '.join(known)}"
    print(f"jitney explain: {code} is neither a file nor an error code; {meant}", file=sys.stderr)
    return 2
