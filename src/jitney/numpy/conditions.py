"""Selection between arrays by conditions: `where`, `select`, `piecewise`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from jitney.core.messages import messages
from jitney.core.typing import Array, ArrayLike, PyTree
from jitney.numpy import promotion, selection
from jitney.numpy.arg_extremes import argmax
from jitney.numpy.nonzero_indices import nonzero_of
from jitney.primitives.array import creation
from jitney.primitives.array.broadcasting import broadcast_shapes, broadcast_to
from jitney.primitives.array.concatenation import stack
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import compare, convert, select as lax_select

# An entry of `funclist` of `piecewise`: a value, or a function of the elements.
_Case: TypeAlias = "Callable[..., ArrayLike] | ArrayLike"


@overload
def where(
    condition: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array: ...


@overload
def where(
    condition: ArrayLike,
    x: None = None,
    y: None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]: ...


def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array | tuple[Array, ...]:
    """Selects elements of `x` where `condition` is true, and of `y` elsewhere.

    Called with `condition` alone, returns the indices of its true elements, like `nonzero`.

    Args:
      condition: an array of booleans; nonzero elements are true.
      x: the values where the condition is true; broadcast against the other operands.
      y: the values elsewhere; broadcast likewise.
      size: with `condition` alone: the number of indices to return, for use under `jit`.
      fill_value: with `condition` alone: the index that pads the result to `size`.

    Returns: an array of the common shape and dtype; with `condition` alone, a tuple of index
      arrays, one for each axis.

    Raises:
      ValueError: if only one of `x` and `y` is passed, or if `size` or `fill_value` is passed with
        them.

    Both `x` and `y` are computed and differentiated everywhere. If one of them is NaN where it is
    not selected, gradients may be NaN; to avoid that, replace the operands from which it is
    computed by harmless values there.

    Example:
      >>> x = jnp.array([4.0, 0.0, -9.0])
      >>> jnp.where(x < 0, jnp.nan, jnp.sqrt(jnp.abs(x)))
      Array([ 2.,  0., nan], dtype=float32)
      >>> jnp.where(x < 0)
      (Array([2], dtype=int32),)
    """
    if x is None and y is None:
        promotion.check_arraylike("where", condition)
        return nonzero_of("jnp.where", condition, size, fill_value)
    if size is not None or fill_value is not None:
        raise ValueError(
            "jnp.where: `size` and `fill_value` apply only to calls with `condition` alone, "
            "which return indices, but `x` or `y` was passed; omit them"
        )
    if x is None or y is None:
        raise ValueError(
            "jnp.where: `x` and `y` must both be passed, or neither to get indices, but "
            f"`{'x' if x is None else 'y'}` is missing"
        )
    return selection.where(condition, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """Selects each element from the first choice whose condition is true.

    Args:
      condlist: arrays of booleans.
      choicelist: an array of values for each condition; all are broadcast together.
      default: the values where no condition is true.

    Returns: an array of the common shape and dtype.

    Raises:
      ValueError: if the lists differ in length or are empty.

    Example:
      >>> x = jnp.arange(6)
      >>> jnp.select([x < 2, x > 3], [x, x * 10], -1)
      Array([ 0,  1, -1, -1, 40, 50], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            "jnp.select: `condlist` and `choicelist` must have the same length, but they have lengths "
            f"{len(condlist)} and {len(choicelist)}"
        )
    if len(condlist) == 0:
        raise ValueError("jnp.select: `condlist` must have at least one condition, but it is empty")
    promotion.check_arraylike("select", *condlist, *choicelist, default)
    conditions = [convert.convert(convert.as_value(c), np.dtype(bool)) for c in condlist]
    *choices, default = promotion.promote_dtypes(*choicelist, default)
    shape = broadcast_shapes(*[shape_of(a) for a in (*conditions, *choices, default)])
    conditions = [broadcast_to(c, shape) for c in conditions]
    choices = [broadcast_to(c, shape) for c in choices]
    none = creation.full_like(conditions[0], False)
    # The index of the first condition that is true, counted from 1; 0 is the default.
    index = argmax(stack([none, *conditions]), axis=0)
    return lax_select.select_n(index, broadcast_to(default, shape), *choices)


def piecewise(
    x: ArrayLike,
    condlist: ArrayLike | Sequence[ArrayLike],
    funclist: Sequence[Any],
    *args: PyTree,
    **kw: PyTree,
) -> Array:
    """Applies to each element of `x` the function of the last condition that is true for it.

    Args:
      x: an array.
      condlist: the conditions: an array of booleans, or a sequence of such arrays.
      funclist: for each condition, a function of arrays or a value. One more entry may follow, for
        elements where no condition is true; by default, the result is 0 there.
      *args: further positional arguments of the functions.
      **kw: keyword arguments of the functions.

    Returns: an array of the shape and dtype of `x`.

    Raises:
      ValueError: if there are no conditions, or their number does not match that of the functions.
      TypeError: if `condlist` is a scalar.

    Every function is evaluated for all of `x`; NumPy evaluates it only where it is selected.

    Example:
      >>> x = jnp.array([-2.0, 1.0, 3.0])
      >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * 10])
      Array([ 2., 10., 30.], dtype=float32)
    """
    from jitney.numpy.creation import array
    from jitney.numpy.cumulative import cumsum
    from jitney.numpy.joining import concatenate
    from jitney.primitives.array.annotations import stop_gradient

    promotion.check_arraylike("piecewise", x)
    conditions = array(condlist, dtype=np.dtype(bool))
    if not conditions.ndim:
        raise TypeError(
            "jnp.piecewise: `condlist` must be a sequence of conditions, or an array whose first "
            f"axis enumerates them, but it is {condlist!r}"
        )
    functions = _with_default(funclist, conditions.shape[0])
    value = convert.as_value(x)
    rank = conditions.ndim - 1
    none = creation.full((1, *conditions.shape[1:]), False, np.dtype(bool))
    # The running count of true conditions first reaches its maximum at the last of them.
    index = argmax(cumsum(concatenate([none, conditions]), axis=0), axis=0)
    index = broadcast_to(index, value.shape) if rank != value.ndim else index
    cases: list[Any] = []
    for k, function in enumerate(functions):
        if not callable(function):
            cases.append(broadcast_to(convert.convert(function, value.dtype), value.shape))
            continue
        # Where another function is selected, the derivative of this one must not contribute.
        here = compare.eq(index, convert.scalar_operand(k, index.dtype, False))
        operand = value
        if promotion.is_inexact(value.dtype):
            operand = lax_select.select(here, value, stop_gradient(value))
        case: Any = function(operand, *args, **kw)
        result = convert.convert(convert.as_value(case), value.dtype)
        cases.append(broadcast_to(result, value.shape))
    return lax_select.select_n(index, *cases)


def _with_default(funclist: Sequence[_Case], count: int) -> list[_Case]:
    """Returns the function for elements without a true condition, then those of the conditions.

    Raises:
      ValueError: if the number of functions does not match, or there are no conditions.
    """
    n_functions = len(funclist)
    if n_functions not in (count, count + 1):
        raise ValueError(
            "jnp.piecewise: `funclist` must have one function for each condition, of which "
            f"{messages.there_are(count)}, and optionally one more for elements that satisfy none, "
            f"but it has {n_functions}"
        )
    if count == 0:
        raise ValueError("jnp.piecewise: `condlist` must have at least one condition, but is empty")
    return [funclist[-1], *funclist[:-1]] if n_functions > count else [0, *funclist]


for _function in (piecewise, select, where):
    _function.__module__ = "jax.numpy"
