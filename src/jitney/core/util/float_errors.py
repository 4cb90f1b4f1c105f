"""Suppression of NumPy's floating-point warnings: our arrays overflow and divide silently.

`np.errstate` costs as much as a small addition, and a signal can interrupt it before it restores
the previous state. It only sets a context variable. To find the variable and its value, this module
enters `np.errstate` once in a separate context.
"""

from __future__ import annotations

import contextvars
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from jitney.core.contexts import Setting


def _find() -> tuple[contextvars.ContextVar[object], object] | None:
    """Returns (context variable that `np.errstate` sets, value that silences NumPy), or None."""
    context = contextvars.Context()
    context.run(np.errstate(all="ignore").__enter__)
    variables = list(context.items())
    return variables[0] if len(variables) == 1 else None


_found = _find()


class _ByErrstate:
    """The same interface, implemented by `np.seterr`."""

    def get(self) -> dict[str, object]:
        return dict(np.geterr())

    def set(self, errors: dict[str, Any] | None) -> None:
        np.seterr(**(errors or dict.fromkeys(np.geterr(), "ignore")))


variable: Any = _found[0] if _found else _ByErrstate()
quiet: Any = _found[1] if _found else None


def ignored() -> AbstractContextManager[None]:
    """Returns a context without NumPy's floating-point warnings; no signal can interrupt its exit."""
    return Setting(variable, quiet) if _found else np.errstate(all="ignore")
