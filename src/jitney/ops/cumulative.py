"""Running folds along an axis: sums, products, extremes, log-sum-exp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.compiler.numerics import reduction
from jitney.core import dtypes
from jitney.core.avals import ShapedArray
from jitney.core.primitive import Primitive, declare
from jitney.ops import kit


def _cumulative(
    name: str, fn: str, accepts: kit.Accepts, doc: str, *, linear: bool = False
) -> tuple[Primitive, Callable[..., Any]]:
    prim = declare(name, linear=linear)

    @prim.abstract
    def _(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(f"{name} does not allow negative axes, got {axis}")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        if not kit.is_accepted(x.dtype, accepts):
            raise TypeError(
                f"{name} does not accept dtype {dtypes.long_name(x.dtype)}. "
                "Accepted dtypes are subtypes of number."
            )
        return x

    @prim.eager
    def _(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        return reduction.cumulative(x, fn, axis, reverse)

    @prim.lower
    def _(b: Any, x: Any, *, axis: int, reverse: bool) -> Any:
        return b.cumulative(x, fn, axis, reverse)

    def function(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        try:
            return prim.bind(operand, axis=int(axis), reverse=bool(reverse))
        except TypeError:
            kit.check_operands(name, operand)
            raise

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.lax"
    return prim, function


cumsum_p, cumsum = _cumulative(
    "cumsum", "add", kit.NUMERIC, "Running sum along `axis`, from the end if `reverse`.", linear=True
)
cumprod_p, cumprod = _cumulative(
    "cumprod", "mul", kit.NUMERIC, "Running product along `axis`, from the end if `reverse`."
)
cummax_p, cummax = _cumulative(
    "cummax", "max", kit.NUMERIC, "Running maximum along `axis`, from the end if `reverse`."
)
cummin_p, cummin = _cumulative(
    "cummin", "min", kit.NUMERIC, "Running minimum along `axis`, from the end if `reverse`."
)
cumlogsumexp_p, cumlogsumexp = _cumulative(
    "cumlogsumexp",
    "logaddexp",
    kit.INEXACT,
    "Running log(sum(exp(x))) along `axis`, from the end if `reverse`.",
)

kit.later(cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p)
