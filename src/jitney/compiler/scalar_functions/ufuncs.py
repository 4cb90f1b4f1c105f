"""Reference implementations by NumPy's ufuncs, with large arrays divided among threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.scalar_functions.declaration import Reference
from jitney.core.types import dtypes
from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold

# The minimum sizes for which dividing a loop among threads pays off: if an element takes some
# computation, and if it takes little more time than reading and writing it.
LARGE, LARGE_IF_LIGHT = threshold(1 << 17, small=8), threshold(1 << 19, small=16)

Threaded = Callable[[np.ufunc, tuple[np.ndarray, ...]], np.ndarray | None]
_threaded: Threaded | None = None


def use_threads(apply_ufunc: Threaded) -> None:
    """Registers `apply_ufunc`(ufunc, operands), a multithreaded evaluator for large arrays.

    It can return None to decline.
    """
    global _threaded
    _threaded = apply_ufunc


def by_ufunc(ufunc: np.ufunc, *, light: bool = False, outside: float | None = None) -> Reference:
    """Returns a reference implementation by `ufunc`, with the same name.

    Args:
      ufunc: the NumPy function.
      light: whether an element takes little more time than reading and writing it.
      outside: a number outside the domain of a function of one operand. NaN results outside the
        domain then have their sign bit set, as in compiled code. Without it, their sign varies: on
        processors without AVX-512, NumPy calls functions of the C library, which return NaN of
        either sign.
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
    """Returns `inner` with the sign bit set in each NaN result of an operand that is not NaN."""

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
    """Returns the function that computes `rule` on small arrays, and the size of large arrays.

    Arrays are large if they have at least that many elements. For a rule that is not based on a
    ufunc, the results are the rule itself and 0.
    """
    return _of_ufuncs.get(rule, (rule, 0))


def stand_in_for(inner: Reference, rule: Reference) -> Reference:
    """Returns `rule`, registered to use the ufunc of `inner` for small arrays.

    The eager rules for small arrays check the result of the ufunc.
    """
    if inner in _of_ufuncs:
        _of_ufuncs[rule] = _of_ufuncs[inner]
    return rule


def halves_in_float32(inner: Reference) -> Reference:
    """Returns `inner`, with float16 and bfloat16 operands computed in float32."""

    def rule(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype.itemsize == 2 and dtypes.issubdtype(dtype, np.floating):
            return np.asarray(inner(*[x.astype(np.float32) for x in xs])).astype(dtype)
        return inner(*xs)

    return rule


def with_complex(inner: Reference, complex_rule: Reference) -> Reference:
    """Returns the binary function `inner`, with complex operands computed by `complex_rule`."""

    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (complex_rule if x.dtype.kind == "c" else inner)(x, y)

    return rule
