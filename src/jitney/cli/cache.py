"""`jitney cache`: what the cache of compiled programs holds, how large it is, why it is not used."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from jitney.cli import usage

USAGE = """\
usage: jitney cache [list]            its folders: programs, size, last use
       jitney cache size              the bytes that it takes, and those that it may
       jitney cache clear             deletes all of it
       jitney cache clear --others    deletes what other machines and older versions have left
       jitney cache why               why programs are not kept or not found, if something is in the way

The folder is that of JAX_COMPILATION_CACHE_DIR, or jitney in the user's cache directory.
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; gives the exit code."""
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
        case other:
            return usage.show(USAGE, asked=other[0] in ("-h", "--help"))


def _list() -> int:
    from jitney.runtime import disk_cache

    place = disk_cache.directory()
    if place is None:
        return _why()
    print(os.path.dirname(place))
    found = disk_cache.generations()
    for each in found:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.last_used))
        whose = "this machine" if each.is_current else "another machine or version"
        print(f"  {each.programs:6} programs {shown(each.nbytes):>10}  used {used}  {whose}")
    if not found:
        print("  empty")
    return 0


def _size() -> int:
    from jitney.runtime import disk_cache

    total = sum([each.nbytes for each in disk_cache.generations()])
    print(f"{shown(total)} of at most {shown(disk_cache.most_bytes())}")
    return 0


def _clear(others: bool) -> int:
    from jitney.runtime import disk_cache

    try:
        print(f"{shown(disk_cache.clear(others=others))} freed")
    except OSError as error:
        print(f"jitney cache: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _why() -> int:
    from jitney.runtime import disk_cache

    reason = disk_cache.obstacle()
    print(f"The cache is not used: {reason}." if reason else "Nothing is in the way: it is used.")
    return 1 if reason else 0


def shown(nbytes: int) -> str:
    """A number of bytes as text with three digits, in decimal units."""
    size, units = float(nbytes), ["bytes", "kB", "MB", "GB"]
    while size >= 999.5 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.3g} {units[0]}"
