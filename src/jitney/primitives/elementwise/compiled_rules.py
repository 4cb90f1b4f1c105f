"""Eager rules that run compiled code instead of NumPy.

On large arrays, some operations take many times longer in NumPy than in compiled code. (For
functions of several operations, use `jit_when_traced(compiled_from=...)` in `api/jit/jit.py`.) The
first call in a process includes compilation, which takes a few milliseconds, about as long as one
NumPy call on arrays of this size.

Complex functions run compiled code if NumPy's result is not finite: NumPy implements Annex G of the
C standard only in part (in NumPy, (inf + inf i) / i is NaN), but a function must have the same
infinities with and without `jit`.

Whether compiled code runs depends only on the operands, so equal calls have equal results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jitney.core.tracing.primitive import Primitive
from jitney.core.util.thresholds import threshold
from jitney.runtime.execution import eager

LARGE = threshold(100_000, small=16)  # elements


def compiled(prim: Primitive, *values: np.ndarray, **params: object) -> Any:
    """Evaluates `prim` by compiling its lowering; the result has the form of an `eager` rule's."""
    out = eager.run_compiled(prim, values, params)
    return [x._data() for x in out] if prim.multiple_results else out._data()


def compile_large(prim: Primitive) -> None:
    """Makes the eager rule of `prim` compile the operation for large operands."""
    by_numpy = prim.eager_rule
    assert by_numpy is not None

    def rule(*values: np.ndarray, **params: object) -> np.ndarray:
        if max(x.size for x in values) >= LARGE:
            return compiled(prim, *values, **params)
        return by_numpy(*values, **params)

    prim.eager_rule = prim.rules["eager"] = rule


def compiled_unless_finite(
    prim: Primitive,
    result: np.ndarray,
    values: Sequence[np.ndarray],
    params: Mapping[str, object] = MappingProxyType({}),
) -> np.ndarray:
    """Returns `result`, that of NumPy, if it is finite, and otherwise that of compiled code."""
    # This takes half as long as `.all()`, which matters for small arrays.
    is_finite = b"\0" not in np.isfinite(result).tobytes()
    return result if is_finite else compiled(prim, *values, **params)


def without_copies(x: np.ndarray) -> np.ndarray:
    """Slices `x` to size 1 along axes with stride 0, along which it is broadcast."""
    return x[tuple([slice(0, 1) if step == 0 else slice(None) for step in x.strides])]
