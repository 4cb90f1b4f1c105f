"""`fori_loop`: a `scan` if its bounds are known at trace time, otherwise a `while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.settings import config
from jitney.core.tracing.trace import concrete_value
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives import calculus
from jitney.primitives.control.scan import scan_from
from jitney.primitives.control.while_loop import while_from
from jitney.primitives.elementwise.convert import convert

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, PyTree
    from jitney.primitives.rule_types import Value

T = TypeVar("T")


@api_boundary
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T:
    """Repeats val = body_fun(i, val) for `lower` <= i < `upper`, and returns the final `val`.

    Args:
      lower: the first index, an integer scalar.
      upper: the end of the range (exclusive), an integer scalar of the same dtype. A Python integer
        adopts the dtype of the other bound if that is signed. If both bounds are known at trace
        time, the loop is a `scan`, and supports reverse-mode differentiation.
      body_fun: a function (index, value) -> value that preserves the structure and types of the
        value.
      init_val: a pytree of arrays.
      unroll: the number of iterations in one pass of the compiled loop, or True to unroll the loop
        completely. This requires bounds that are known at trace time.

    Returns: the final value, a pytree like `init_val`.

    Raises:
      TypeError: if the bounds are not integers of the same dtype, or if the result of the body does
        not have the types of `init_val`.
      ValueError: if `unroll` is neither None nor 1, and a bound is unknown at trace time.

    Example:
      >>> lax.fori_loop(1, 6, lambda i, product: product * i, 1)
      Array(120, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: `body_fun` must be a function, but is {body_fun!r}")
    known = _known(lower), _known(upper)
    lower, upper = _of_one_dtype(lower, upper)
    if known[0] is not None and known[1] is not None:
        if config.disable_jit_enabled():
            value = init_val
            for i in range(known[0], known[1]):
                value = body_fun(i, value)
            return value

        def step(loop_carry: tuple[ArrayLike, T], _: object) -> tuple[tuple[ArrayLike, T], None]:
            i, value = loop_carry
            return (i + 1, body_fun(i, value)), None

        (_, result), _ = scan_from(
            (body_fun, "fori_loop"),
            step,
            (known[0], init_val),
            None,
            length=max(known[1] - known[0], 0),
            unroll=1 if unroll is None else unroll,
        )
        return result
    if unroll is not None and unroll != 1:
        raise ValueError(
            "lax.fori_loop: `unroll` requires that the number of iterations is known when the "
            "function is traced, but `lower` or `upper` is a traced value"
        )
    _, _, result = while_from(
        (_goes_on, None),
        (body_fun, "fori_loop"),
        _goes_on,
        lambda c: (c[0] + 1, c[1], body_fun(c[0], c[2])),
        (lower, upper, init_val),
    )
    return result


def _goes_on(carry: tuple[Value, Value, PyTree]) -> Array:
    return calculus.lt(carry[0], carry[1])


def _known(bound: Value) -> int | None:
    """Returns the value of a scalar bound as an int, or None if it is unknown at trace time."""
    value = concrete_value(bound)
    return None if value is None or np.ndim(value) else int(value)


def _of_one_dtype(lower: Value, upper: Value) -> tuple[Value, Value]:
    """Returns the bounds with equal dtypes; a weakly typed one adopts the other's signed dtype.

    Raises:
      TypeError: if the dtypes differ in another way.
    """
    low, high = (get_aval(x) for x in (lower, upper))
    if low.dtype == high.dtype:
        return lower, upper
    are_signed = all(dtypes.issubdtype(t.dtype, np.signedinteger) for t in (low, high))
    if are_signed and low.weak_type and not high.weak_type:
        return convert(lower, high.dtype), upper
    if are_signed and high.weak_type and not low.weak_type:
        return lower, convert(upper, low.dtype)
    got = " and ".join(dtypes.long_name(t.dtype) for t in (low, high))
    raise TypeError(
        f"lax.fori_loop: `lower` and `upper` must have the same dtype, but are {got}; use astype"
    )
