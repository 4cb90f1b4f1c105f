"""NumPy's elementwise functions on large arrays, divided among the runtime's threads.

NumPy uses one thread, which leaves most of the machine, and of the bandwidth of its memory, idle. It
gives up Python's lock while it computes, so its functions can be called on parts of arrays at once.
"""

from __future__ import annotations

import numpy as np

from jitney.core import float_errors
from jitney.core.thresholds import threshold
from jitney.runtime import host_path
from jitney.runtime.native import _native

# Elements of a part: a thread that is ahead then takes parts of others'.
_MAX = threshold(1 << 20, small=64)


def apply_ufunc(ufunc: np.ufunc, xs: tuple[np.ndarray, ...]) -> np.ndarray | None:
    """ufunc(*xs), computed in parts; None if NumPy has to do it.

    Operands are contiguous arrays of one shape, or repeat one element.
    """
    if ufunc.nout != 1 or ufunc.nin != len(xs):
        return None
    shape = max([x.shape for x in xs], key=len)
    n = max([x.size for x in xs])
    rows: list[np.ndarray] = []
    for x in xs:
        if type(x) is not np.ndarray:
            return None
        if x.shape == shape and x.flags.c_contiguous:
            rows.append(x.reshape(-1))
        elif x.size == 1 or (x.shape == shape and not any(x.strides)):
            rows.append(x[(slice(1),) * x.ndim].reshape(1))
        else:
            return None
    out = _native.empty(shape, ufunc.resolve_dtypes((*[x.dtype for x in xs], None))[-1])
    if out.size != n:
        return None
    whole = out.reshape(-1)

    def part(begin: int, end: int) -> None:
        outer = float_errors.variable.get()
        try:
            float_errors.variable.set(float_errors.quiet)
            ufunc(*[x if x.size == 1 else x[begin:end] for x in rows], out=whole[begin:end])
        finally:
            float_errors.variable.set(outer)

    pool = host_path.threads()
    pool.parallel_for(part, n, min(-(-n // pool.threads), _MAX))
    return out
