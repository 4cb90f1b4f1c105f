"""How commands say how they are used, and read their options: those that their usage shows.

A usage has a line for each option, `--name VALUE   what it does`, or `--name   what it does`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

# Compiled when they are first used: programs that are run have no use for them.
_OPTION = r"(?m)^  (--?[\w-]+)(?: ([A-Z]+))?(?:  |$)"
_SHORT = r"(?<![\w-])-[a-zA-Z](?![\w-])"
_NAME = r"(?<![\w-])--[a-z][\w-]*"


def show(usage: str, *, asked: bool) -> int:
    """Prints a command's usage, to standard error unless the user asked; gives the exit code."""
    print(usage, end="", file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


def names(usage: str) -> list[str]:
    """The options that a usage mentions, in order."""
    return [*dict.fromkeys(re.findall(_NAME, usage))]


def options(usage: str, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The values of options among the words of a command, by name without dashes, and the other words.

    Options that take no value have "".

    Raises:
      ValueError: if there is no such option, or its value is missing.
    """
    takes = dict(re.findall(_OPTION, usage))
    values: dict[str, str] = {}
    others: list[str] = []
    left = iter(words)
    for word in left:
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in takes:
            raise ValueError(f"unknown option {name}{did_you_mean(name, takes)}")
        if takes[name] and not equals:
            value = next(left, "")
            if not value:
                raise ValueError(f"{name} needs a value")
        elif equals and not takes[name]:
            raise ValueError(f"{name} takes no value")
        values[name.lstrip("-")] = value
    return values, others


def unknown_option(usage: str, words: Sequence[str]) -> str | None:
    """The first of the leading options among the words of a command that its usage does not have."""
    takes = dict(re.findall(_OPTION, usage))
    known = {*takes, *names(usage), *re.findall(_SHORT, usage), "-h", "--help", "-"}
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            break
        name, equals, _ = word.partition("=")
        if name not in known:
            return name
        if takes.get(name) and not equals:
            next(left, None)
    return None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """ "; did you mean ...?" of the most similar word that is known; "" if none is."""
    import difflib  # which takes a millisecond to load

    match = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {match[0]}?" if match else ""
