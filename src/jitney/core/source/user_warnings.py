"""Warnings that refer to the user's line.

Python shows a warning once for each line to which it refers. If that line were in this package, the
first warning would hide the warnings for all other lines of the user's code.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from types import FrameType
from typing import Any, cast

from jitney.core.contexts import Within
from jitney.core.source import source_info

# Registries of the warnings shown for lines that are not being run, by file; Python keeps the
# others.
_shown: dict[str, dict[object, int]] = {}


class _State(threading.local):
    """The state of warnings in a thread.

    Attributes:
      held: the list that collects messages; None if they are shown.
    """

    held: list[str] | None = None


_state = _State()


def held() -> Within[list[str]]:
    """Returns a context that collects the messages of this package's warnings in this thread.

    None of them is shown. `warnings.catch_warnings` would also collect the warnings of other
    threads. It would also reset Python's record of the warnings shown, so that they would be shown
    again.
    """
    messages = list[str]()
    return Within(_state, ("held",), (messages,), messages)


def warn(message: str, category: type[Warning] = UserWarning, place: object = None) -> None:
    """Issues a warning at the innermost line of the user's code, or else at the outermost line.

    Args:
      message: the message.
      category: the class of the warning.
      place: another line for the warning, as (file, line) or as a `SourceInfo` with a known line.
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
    assert frame is not None  # CPython has frames
    while _is_passed_over(frame) and frame.f_back is not None:
        frame = frame.f_back
    module = frame.f_globals.get("__name__") or "<string>"
    # Equivalent to `warnings.warn` with a `stacklevel` that selects this frame.
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module,
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _is_passed_over(frame: FrameType) -> bool:
    """Returns whether a frame belongs to this package or to Python's call and import machinery."""
    name = frame.f_code.co_filename
    return (
        source_info.is_internal(frame.f_code)
        or name == functools.__file__
        or name.startswith("<frozen importlib")
    )
