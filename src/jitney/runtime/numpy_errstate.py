"""Running NumPy without its floating-point warnings: arrays of ours overflow and divide in silence.

`np.errstate` costs as much as a small addition, and all that it does is to set a context variable.
Which one, and to what value, is found by entering it in a context of its own.
"""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any

import numpy as np


def _find() -> tuple[Any, Any] | None:
    """(the context variable that `np.errstate` sets, the value that silences NumPy), if it is one."""
    context = contextvars.Context()
    context.run(np.errstate(all="ignore").__enter__)
    found = list(context.items())
    return found[0] if len(found) == 1 else None


_found = _find()


class _ByErrstate:
    """The same interface by way of `np.errstate`."""

    def set(self, _: Any) -> contextlib.AbstractContextManager[None]:
        context = np.errstate(all="ignore")
        context.__enter__()
        return context

    def reset(self, token: contextlib.AbstractContextManager[None]) -> None:
        token.__exit__(None, None, None)


variable: Any = _found[0] if _found else _ByErrstate()
quiet: Any = _found[1] if _found else None
