"""Eager operations that are compiled.

On large arrays these are the operations on which NumPy takes many times as long. For functions of
several operations there is `jit_when_traced(compiled_from=...)` (`api/jit.py`). The first call of a
process pays for compilation: some milliseconds, as much as one call of NumPy's on arrays of this size.

Complex functions are compiled where NumPy's result is not finite: NumPy follows Annex G of the C
standard only in part ((inf + inf i) / i is NaN there), and a function has the same infinities with and
without `jit`.

Whether an operation is compiled depends on its operands alone, so equal calls have equal results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jitney.core.primitive import Primitive
from jitney.core.thresholds import threshold
from jitney.runtime import eager

LARGE = threshold(100_000, small=16)  # elements


def compiled(prim: Primitive, *values: np.ndarray, **params: object) -> Any:
    """Returns what the `eager` rule of `prim` returns, by way of its lowering."""
    out = eager.run_compiled(prim, values, params)
    return [x._data() for x in out] if prim.multiple_results else out._data()


def compile_large(prim: Primitive) -> None:
    """Makes the eager rule of `prim` one that compiles the operation for large operands."""
    by_numpy = prim.eager_rule
    assert by_numpy is not None

    def rule(*values: np.ndarray, **params: object) -> Any:
        if max(x.size for x in values) >= LARGE:
            return compiled(prim, *values, **params)
        return by_numpy(*values, **params)

    prim.eager_rule = prim.rules["eager"] = rule


def compiled_unless_finite(
    prim: Primitive,
    result: np.ndarray,
    values: Sequence[np.ndarray],
    params: Mapping[str, object] = MappingProxyType({}),
) -> Any:
    """`result` of NumPy's complex function if all of it is finite, else that of compiled code."""
    # Half the time of `.all()`, which small arrays would notice.
    is_finite = b"\0" not in np.isfinite(result).tobytes()
    return result if is_finite else compiled(prim, *values, **params)


def without_copies(x: np.ndarray) -> np.ndarray:
    """`x` with one element along axes that it is broadcast over."""
    return x[tuple([slice(0, 1) if step == 0 else slice(None) for step in x.strides])]
