"""Warnings that point at the user's line.

Python shows a warning once for each line that it points at: one inside of this package would hide those
of all other lines.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from types import FrameType
from typing import Any, cast

from jitney.core import source_info
from jitney.core.contexts import Within

# What has been shown of places that are not being run, by file: Python notes it by line.
_shown: dict[str, dict[object, int]] = {}


class _State(threading.local):
    """What one thread does with its warnings.

    Attributes:
      held: where they are collected instead of shown; None where they are shown.
    """

    held: list[str] | None = None


_state = _State()


def held() -> Within[list[str]]:
    """Collects the messages of this package's warnings, in this thread, and shows none of them.

    `warnings.catch_warnings` also takes those of other threads, and has Python forget at which lines it
    has warned: what is shown once would be shown again after each use.
    """
    messages = list[str]()
    return Within(_state, ("held",), (messages,), messages)


def warn(message: str, category: type[Warning] = UserWarning, place: object = None) -> None:
    """Warns at the innermost line that is the user's; at the outermost one if there is none.

    Args:
      message: what is shown.
      category: the warning's class.
      place: another line to warn at, a `SourceInfo` if it has one, or (file, line).
    """
    if _state.held is not None:
        _state.held.append(message)
        return
    if isinstance(place, source_info.SourceInfo) and place.code is not None:
        place = place.code.co_filename, place.position()[0]
    if isinstance(place, tuple):
        name, line = cast("tuple[str, int]", place)
        registry: dict[Any, Any] = _shown.setdefault(name, {})
        warnings.warn_explicit(message, category, name, line, registry=registry)
        return
    frame = inspect.currentframe()
    assert frame is not None  # Python has frames
    while _is_passed_over(frame) and frame.f_back is not None:
        frame = frame.f_back
    module = frame.f_globals.get("__name__") or "<string>"
    # As `warnings.warn` does for the frame that its `stacklevel` counts to.
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module,
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_passed_over(frame: FrameType) -> bool:
    """Returns whether a frame is of this package, or stands between one and its caller."""
    name = frame.f_code.co_filename
    return (
        source_info.is_internal(frame.f_code)
        or name == functools.__file__
        or name.startswith("<frozen importlib")
    )
