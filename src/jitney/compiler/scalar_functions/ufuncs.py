"""NumPy's loops as reference implementations; large arrays are shared among threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.scalar_functions.declaration import Reference
from jitney.core.types import dtypes
from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold

# Sizes from which sharing a loop among threads pays off: if an element takes some computation, and
# if it takes little more than reading and writing it.
LARGE, LARGE_IF_LIGHT = threshold(1 << 17, small=8), threshold(1 << 19, small=16)

Threaded = Callable[[np.ufunc, tuple[np.ndarray, ...]], np.ndarray | None]
_threaded: Threaded | None = None


def use_threads(apply_ufunc: Threaded) -> None:
    """Registers the multithreaded evaluator `apply_ufunc`(ufunc, operands) for large arrays.

    It may return None to decline.
    """
    global _threaded
    _threaded = apply_ufunc


def by_ufunc(ufunc: np.ufunc, *, light: bool = False, outside: float | None = None) -> Reference:
    """Returns a reference that computes `ufunc`, with the same name.

    Args:
      ufunc: NumPy's function.
      light: whether an element takes little more time than reading and writing it.
      outside: a number outside its domain, of a function of one operand whose NaN there have their
        sign set, as in compiled code. The C library's functions, which NumPy calls on processors
        without AVX-512, return NaN of either sign.
    """
    large = LARGE_IF_LIGHT if light else LARGE

    def compute(*xs: np.ndarray) -> np.ndarray:
        if (xs[0].size >= large or xs[-1].size >= large) and _threaded is not None:
            result = _threaded(ufunc, xs)
            if result is not None:
                return result
        return ufunc(*xs)

    rule, small = compute, ufunc
    if outside is not None and _returns_positive_nan(ufunc, outside):
        rule, small = _with_negative_nan(compute), _with_negative_nan(ufunc)
    rule.__name__ = ufunc.__name__
    _of_ufuncs[rule] = small, large
    return rule


def _returns_positive_nan(ufunc: np.ufunc, x: float) -> bool:
    with float_errors.ignored():
        return not all(np.signbit(ufunc(dtype(x))) for dtype in (np.float32, np.float64))


def _with_negative_nan(inner: Reference) -> Reference:
    """Returns `inner` with the sign set of NaN that result from operands that are not NaN."""

    def rule(x: np.ndarray) -> np.ndarray:
        out = inner(x)
        if x.dtype.kind == "c":
            return out
        is_nan = np.isnan(out)
        if is_nan.any():
            return np.where(is_nan & ~np.isnan(x), out.dtype.type(-np.nan), out)
        return out

    return rule


_of_ufuncs: dict[Reference, tuple[Reference, int]] = {}


def for_small(rule: Reference) -> tuple[Reference, int]:
    """Returns the function that computes `rule` on small arrays, and the size of large ones."""
    return _of_ufuncs.get(rule, (rule, 0))


def stand_in_for(inner: Reference, rule: Reference) -> Reference:
    """Returns `rule`, registered to use the ufunc of `inner` for small arrays.

    Their eager rules check the ufunc's result.
    """
    if inner in _of_ufuncs:
        _of_ufuncs[rule] = _of_ufuncs[inner]
    return rule


def halves_in_float32(inner: Reference) -> Reference:
    """Returns `inner` with float16 and bfloat16 computed in float32: NumPy has no such loop."""

    def rule(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype.itemsize == 2 and dtypes.issubdtype(dtype, np.floating):
            return np.asarray(inner(*[x.astype(np.float32) for x in xs])).astype(dtype)
        return inner(*xs)

    return rule


def with_complex(inner: Reference, complex_rule: Reference) -> Reference:
    """Returns `inner`, of two operands, with complex operands computed by `complex_rule`."""

    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (complex_rule if x.dtype.kind == "c" else inner)(x, y)

    return rule
