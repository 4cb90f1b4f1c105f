"""Checks of computed values that users can enable: `jax_debug_nans`, `jax_debug_infs`.

The results of a compiled program are checked first. If a check fails, the program's caller
evaluates it again operation by operation, and the check after each operation finds the operation
that is responsible.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from jitney.core.settings import config
from jitney.core.source import source_info
from jitney.core.tracing.primitive import declare_slot

# (*arrays, **params) -> evaluates a loop or branch operation by operation
BY_STEPS = declare_slot("by_steps")

_logger = logging.getLogger(__name__)


def check_results(what: object, arrays: Sequence[Any]) -> None:
    """Raises FloatingPointError if a value is NaN (or infinite) where the user forbids it.

    Args:
      what: the primitive or program that computed the values, for the message.
      arrays: runtime arrays.
    """
    for array in arrays:
        data = array._value
        if data.dtype.kind not in "fcV":
            continue
        if config.debug_nans_enabled() and bool(np.isnan(data).any()):
            raise _error("nan", what)
        if config.debug_infs_enabled() and bool(np.isinf(data).any()):
            raise _error("inf", what)


def _error(value: str, what: object) -> FloatingPointError:
    where = source_info.summarize(source_info.current())
    return FloatingPointError(
        f"invalid value ({value}) encountered in {what}{f' at {where}' if where else ''}"
    )


def raise_where_it_arises(
    error: FloatingPointError, name: object, evaluate: Callable[[], object]
) -> NoReturn:
    """Raises the error of the operation in program `name` whose result fails the check.

    Args:
      error: the program's error, raised if no operation by itself has such a result.
      name: the name of the program, for the log.
      evaluate: evaluates the program operation by operation.
    """
    _logger.warning(
        "A result of jit(%s) has an invalid value. The operations of the function are evaluated "
        "one by one to find the one that produces it.",
        name,
    )
    try:
        evaluate()
    except FloatingPointError as found:
        raise found from None  # says all that `error` does
    raise error
