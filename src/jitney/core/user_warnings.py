"""Warnings that point at the user's line.

Python shows a warning once for each line that it points at: one inside of this package would hide those
of all other lines.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from types import FrameType
from typing import Any

from jitney.core import source_info

# What has been shown of places that are not being run, by file: Python notes it by line.
_shown: dict[str, dict[object, int]] = {}


def warn(message: str, category: type[Warning] = UserWarning, place: object = None) -> None:
    """Warns at the innermost line that is the user's; at the outermost one if there is none.

    Args:
      message: what is shown.
      category: the warning's class.
      place: a `SourceInfo` of another line to warn at, if it has one.
    """
    if isinstance(place, source_info.SourceInfo) and place.code is not None:
        name = place.code.co_filename
        registry: dict[Any, Any] = _shown.setdefault(name, {})
        warnings.warn_explicit(message, category, name, place.position()[0], registry=registry)
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
    """Whether a frame is of this package, or stands between one and its caller."""
    name = frame.f_code.co_filename
    return (
        source_info.is_internal(frame.f_code)
        or name == functools.__file__
        or name.startswith("<frozen importlib")
    )
