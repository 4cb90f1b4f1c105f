"""Choice between values: `select_n`, `clamp`, and `round`, whose method is a parameter."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from jitney.compiler import numerics
from jitney.core import dtypes
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.primitive import declare
from jitney.ops import kit
from jitney.runtime.native import _native

# --- select_n ---------------------------------------------------------------------------------

select_n_p = declare("select_n")

_LARGE = 512  # elements from which native code is faster than NumPy


@select_n_p.abstract
def _(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError("select_n() must have at least one case")
    if which.dtype != kit.BOOL and not dtypes.issubdtype(which.dtype, np.integer):
        raise TypeError(
            "select `which` must be boolean or integer type, got "
            f"{dtypes.long_name(which.dtype)}."
        )
    if which.dtype == kit.BOOL and len(cases) > 2:
        raise TypeError("select with boolean `which` cannot have > 2 cases.")
    if any(c.shape != cases[0].shape for c in cases):
        raise TypeError(
            f"select cases must have the same shapes, got [{', '.join(str(c.shape) for c in cases)}]."
        )
    if which.shape and which.shape != cases[0].shape:
        raise TypeError(
            "select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{which.shape} but case shape {cases[0].shape}."
        )
    kit.check_same_dtypes("select", cases)
    return shaped_array(cases[0].shape, cases[0].dtype, all(c.weak_type for c in cases))


@select_n_p.eager
def _(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if which.dtype == kit.BOOL:
        if which.size > _LARGE and which.shape == cases[0].shape:
            chosen = _native.select(which, cases[-1], cases[0])
            if chosen is not None:
                return chosen
        return np.where(which, cases[-1], cases[0])
    return numerics.select_n(which, *cases)


@select_n_p.lower
def _(b: Any, which: Any, *cases: Any) -> Any:
    shape = cases[0].shape
    result = cases[0]
    if which.dtype == kit.BOOL:
        if len(cases) == 1:
            return result
        return b.apply("select", kit.stretch(b, which, shape), cases[1], cases[0])
    # Out of range, `which` counts as the nearest case, as in the eager rule.
    for i, case in enumerate(cases[1:], start=1):
        bound = b.full(which.shape, i, which.dtype)
        chosen = b.apply("ge", which, bound)
        result = b.apply("select", kit.stretch(b, chosen, shape), case, result)
    return result


def select_n(which: Any, *cases: Any) -> Any:
    """Element i of `cases[which[i]]`; False is 0 and True is 1. `which` may be a scalar."""
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`; all of one shape, but `pred` may be scalar."""
    return select_n_p.bind(pred, on_false, on_true)


# --- clamp ------------------------------------------------------------------------------------

clamp_p = declare("clamp")


@clamp_p.abstract
def _(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    for i, aval in enumerate((low, x, high)):
        kit.check_dtype("clamp", aval.dtype, kit.ORDERED, i)
    kit.check_same_dtypes("clamp", (low, x, high))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                f"{name}.shape={bound.shape}, operand.shape={x.shape}."
            )
    return shaped_array(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


@clamp_p.eager
def _(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    return numerics.clamp(low, x, high)


@clamp_p.lower
def _(b: Any, low: Any, x: Any, high: Any) -> Any:
    low, high = kit.stretch(b, low, x.shape), kit.stretch(b, high, x.shape)
    return b.apply("min", b.apply("max", low, x), high)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to [`min`, `max`]; the bounds have the shape of `x` or are scalars."""
    return clamp_p.bind(min, x, max)


# --- round ------------------------------------------------------------------------------------


class RoundingMethod(enum.IntEnum):
    """What `round` does with numbers halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


round_p = declare("round")


@round_p.abstract
def _(x: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    kit.check_dtype("round", x.dtype, kit.FLOAT)
    return x


_ROUND_FN = {
    RoundingMethod.AWAY_FROM_ZERO: "round_away",
    RoundingMethod.TO_NEAREST_EVEN: "round_even",
}


@round_p.eager
def _(x: np.ndarray, *, rounding_method: RoundingMethod) -> np.ndarray:
    return numerics.scalar.function(_ROUND_FN[rounding_method])(x)


@round_p.lower
def _(b: Any, x: Any, *, rounding_method: RoundingMethod) -> Any:
    return b.apply(_ROUND_FN[rounding_method], x)


def round(  # noqa: A001
    x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> Any:
    """The nearest integer, as a float."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


kit.later(select_n_p, clamp_p, round_p)
