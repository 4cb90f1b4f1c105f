"""Checks of computed values that users can switch on: `jax_debug_nans`, `jax_debug_infs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.core import config


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
            raise FloatingPointError(f"invalid value (nan) encountered in {what}")
        if config.debug_infs_enabled() and bool(np.isinf(data).any()):
            raise FloatingPointError(f"invalid value (inf) encountered in {what}")
