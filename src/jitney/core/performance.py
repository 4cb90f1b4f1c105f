"""Warnings of programs that are slower than they need be, each with the cure.

What finds them stands beside what it looks at (`api/slow_calls.py`, `runtime/slow_programs.py`), and
looks where a function is traced or a program lowered: calls that are known pay nothing for it.
"""

from __future__ import annotations

from jitney.core import config
from jitney.core.user_warnings import warn as warn_as


class PerformanceWarning(UserWarning):
    """A program is slower than it need be; the message says why, and the cure.

    `jitney_performance_warnings` turns these warnings off; `docs/settings.md` lists them.
    """


PerformanceWarning.__module__ = "jitney"  # where users find it, and filters of warnings name it


def warns() -> bool:
    """Returns whether such programs are looked for."""
    return config.performance_warnings.value


def warn(message: str, place: object = None) -> None:
    """Warns at the user's line.

    Args:
      message: why it is slow, and the cure.
      place: where an equation comes from, as a `SourceInfo`, or (file, line); the innermost line of the
        user's that is being run by default.
    """
    warn_as(message, PerformanceWarning, place)
