"""The text of arrays: `Array([1., 2.], dtype=float32)`."""

from __future__ import annotations

import numpy as np

from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray


def key_repr(words: np.ndarray, aval: ShapedArray) -> str:
    """Returns the repr of a key array, with the words of the keys."""
    return f"Array({aval.shape}, dtype={dtypes.long_name(aval.dtype)}) overlaying:\n{words}"


def array_repr(value: np.ndarray, aval: ShapedArray) -> str:
    """Returns the repr of an array: its elements as NumPy prints them, its dtype and weak type."""
    head = "Array("
    tail = f"dtype={dtypes.long_name(aval.dtype)}"
    if aval.weak_type:
        tail += ", weak_type=True"
    tail += ")"
    width = np.get_printoptions()["linewidth"]
    if value.size == 0:
        body = f"[], shape={value.shape}"
    else:
        body = np.array2string(value, prefix=head, suffix=",", separator=", ", max_line_width=width)
    # If the last line has no room left, JAX pads with spaces; they are kept so that texts compare
    # equal.
    last = len(body) - (body.rfind("\n") + 1)
    gap = " " if last + len(tail) + 3 <= width else " " * len(head)
    return f"{head}{body},{gap}{tail}"


def array_str(value: np.ndarray) -> str:
    """Returns the elements as NumPy prints them."""
    return np.array2string(value) if value.ndim else str(value[()])
