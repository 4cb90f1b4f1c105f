"""`jitney cache`: shows the persistent compilation cache, and why programs are not in it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from jitney.cli import run, usage
from jitney.core.messages.messages import counted

USAGE = """\
usage: jitney cache [list]            lists its folders with their programs, size and last use
       jitney cache size              shows its size and the maximum size
       jitney cache clear             deletes all programs
       jitney cache clear --others    deletes the programs of other machines and older versions
       jitney cache why               shows whether the cache is in use, and if not, why
       jitney cache why program.py [argument ...]
                                      runs a program and shows which of its functions were found in
                                      the cache, and why functions are not stored

The folder is JAX_COMPILATION_CACHE_DIR or, if that is not set, jitney in the user's cache directory.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    match list(arguments):
        case [] | ["list"]:
            return _list()
        case ["size"]:
            return _size()
        case ["clear"]:
            return _clear(others=False)
        case ["clear", "--others"]:
            return _clear(others=True)
        case ["why"]:
            return _why()
        case ["why", *words] if words[0] not in ("-h", "--help"):
            return _why_of(words)
        case other:
            return usage.refuse_word(USAGE, other, ["list", "size", "clear", "why"])


def _list() -> int:
    from jitney.runtime.cache import disk_cache

    place = disk_cache.directory()
    if place is None:
        return _why()
    print(os.path.dirname(place))
    generations = disk_cache.generations()
    for each in generations:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.last_used))
        whose = "this machine" if each.is_current else "another machine or version"
        programs = counted(each.programs, "program")
        print(f"  {programs:>15} {shown(each.nbytes):>10}  used {used}  {whose}")
    if not generations:
        print("  empty")
    return 0


def _size() -> int:
    from jitney.runtime.cache import disk_cache

    total = sum([each.nbytes for each in disk_cache.generations()])
    print(f"{shown(total)} of at most {shown(disk_cache.most_bytes())}")
    return 0


def _clear(others: bool) -> int:
    from jitney.runtime.cache import disk_cache

    try:
        print(f"{shown(disk_cache.clear(others=others))} freed")
    except OSError as error:
        print(f"jitney cache: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _why() -> int:
    from jitney.runtime.cache import disk_cache

    reason = disk_cache.obstacle()
    print(f"The cache is not used: {reason}." if reason else "The cache is in use.")
    return 1 if reason else 0


def _why_of(words: Sequence[str]) -> int:
    from jitney.inspection import collect, titles

    try:
        _, program = usage.around_program(USAGE, words)
    except ValueError as wrong:
        return usage.refuse(USAGE, wrong)
    with collect.cache_outcomes() as outcomes:
        ended = run.run_to_end(program)
    if not ended.has_run:
        return ended.leave()
    said = {"found": "found in the cache", "kept": "not found: compiled and stored"}
    print()
    for each in outcomes:
        why = said.get(each.outcome, f"compiled, but not stored: {each.outcome}")
        print(f"{titles.title_of(each.module)}: {why}")
    if not outcomes:
        print(f"{usage.title(program)} compiled no function.")
    return ended.leave()


def shown(nbytes: int) -> str:
    """Formats a number of bytes with three significant digits, in decimal units."""
    size, units = float(nbytes), ["bytes", "kB", "MB", "GB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.3g} {units[0]}"
