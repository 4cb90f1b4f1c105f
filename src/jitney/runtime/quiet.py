"""Running NumPy without its floating-point warnings: arrays of ours overflow and divide in silence.

`np.errstate` costs as much as a small addition; setting its context variable directly does not.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np


def _find() -> tuple[Any, Any] | None:
    """(NumPy's context variable of error handling, the value that silences it), if they exist."""
    try:
        from numpy._core.umath import _extobj_contextvar, _make_extobj
    except ImportError:
        return None
    return _extobj_contextvar, _make_extobj(all="ignore")


_found = _find()


class _ByErrstate:
    """The same interface by public means."""

    def set(self, _: Any) -> contextlib.AbstractContextManager[None]:
        context = np.errstate(all="ignore")
        context.__enter__()
        return context

    def reset(self, token: Any) -> None:
        token.__exit__(None, None, None)


variable: Any = _found[0] if _found else _ByErrstate()
quiet: Any = _found[1] if _found else None
