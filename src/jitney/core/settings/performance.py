"""Warnings for programs that are slower than necessary, each with a remedy.

The checks are in `api/jit/slow_calls.py` and `runtime/execution/slow_programs.py`. They run when a
function is traced or a program is lowered, so cached calls do not pay for them.
"""

from __future__ import annotations

from jitney.core.settings import config
from jitney.core.source.user_warnings import warn as warn_as


class PerformanceWarning(UserWarning):
    """A program is slower than necessary; the message gives the reason and a remedy.

    `jitney_performance_warnings` turns these warnings off; `docs/settings.md` lists them.
    """


PerformanceWarning.__module__ = "jitney"  # the public location, for users and warning filters


def warns() -> bool:
    """Returns whether performance warnings are enabled."""
    return config.performance_warnings.value


def warn(message: str, place: object = None) -> None:
    """Issues a warning at a line of the user's code.

    Args:
      message: the reason and a remedy.
      place: the location, as the `SourceInfo` of an equation or as (file, line); by default the
        innermost line of the user's code that is being executed.
    """
    warn_as(message, PerformanceWarning, place)
