"""`platform_dependent`: a choice by the platform; here there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """The function given for the CPU, or the default one, applied to `args`.

    Args:
      *args: pytrees of arrays.
      default: for platforms that are not named.
      **per_platform: functions by the platform's name.

    Raises:
      NotImplementedError: if there is neither a function for the CPU nor a default.
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise NotImplementedError(
            "platform_dependent: no branch for platform cpu, and no default; there are branches for "
            f"{', '.join(sorted(per_platform)) or 'nothing'}"
        )
    return chosen(*args)
