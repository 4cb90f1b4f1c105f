"""NumPy's elementwise functions on large arrays, shared among the runtime's threads.

NumPy uses one thread, which leaves most cores and most of the memory bandwidth idle. It releases
the GIL while it computes, so its functions can run on pieces of arrays in parallel.
"""

from __future__ import annotations

import numpy as np

from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold
from jitney.runtime.arrays import host_path
from jitney.runtime.native import _native

# Elements per task: small enough that a thread that is ahead can take over tasks of others.
_MAX = threshold(1 << 20, small=64)


def apply_ufunc(ufunc: np.ufunc, xs: tuple[np.ndarray, ...]) -> np.ndarray | None:
    """Returns ufunc(*xs), computed in parallel; None if NumPy has to compute it.

    It accepts operands that are contiguous arrays of one shape or repeat one element.
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
