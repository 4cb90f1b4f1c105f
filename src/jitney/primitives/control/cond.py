"""`lax.cond` and `lax.switch`, which call one of several functions, selected by a value.

The functions are traced and become branches of one equation of the primitive `cond`
(`cond_primitive`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.settings import config
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives import calculus, rules
from jitney.primitives.control.cond_primitive import bind_branches
from jitney.primitives.control.tracing import (
    Traced,
    check_branches,
    check_refs,
    trace_function,
    with_common_consts,
)
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.elementwise.select import clamp

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, PyTree
    from jitney.primitives.rule_types import Value

T = TypeVar("T")


_INT32 = np.dtype(np.int32)


@api_boundary
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., T]],
    *operands: PyTree,
    operand: PyTree = None,
) -> T:
    """Calls branches[index](*operands); an `index` out of range is clamped.

    Args:
      index: an integer scalar.
      branches: a sequence of at least one function of `operands`. The results of all functions have
        the same structure and types.
      *operands: pytrees of arrays.
      operand: a single operand, passed by keyword instead of `operands`.

    Returns: the result of the branch. Under `vmap` with batched indices, all branches are executed
      for all indices, and the result of the chosen branch is selected for each index.

    Raises:
      TypeError: if `index` is not an integer scalar, or the results have different types.
      ValueError: if there are no branches.

    Example:
      >>> branches = [jnp.abs, jnp.square, jnp.negative]
      >>> lax.switch(1, branches, jnp.array([1, 2]))
      Array([1, 4], dtype=int32)
      >>> lax.switch(7, branches, jnp.array([1, 2]))  # the last one
      Array([-1, -2], dtype=int32)
    """
    if not all(callable(b) for b in branches):
        raise TypeError(f"lax.switch: `branches` must contain functions only, but is {branches!r}")
    if operand is not None:
        operands = (operand,)
    aval: Any = get_aval(index)
    if aval.shape != ():
        raise TypeError(
            f"lax.switch: `index` must be a scalar, but has shape {aval.shape}: {index}"
        )
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(
            f"lax.switch: `index` must be an integer, but {index} is {dtypes.long_name(aval.dtype)}"
        )
    functions = list(branches)
    if not functions:
        raise ValueError("lax.switch: `branches` must contain at least one function, but is empty")
    if len(functions) == 1:
        return functions[0](*operands)
    if config.disable_jit_enabled() and not isinstance(index, Tracer):
        known: Any = index
        return functions[min(max(int(known), 0), len(functions) - 1)](*operands)
    whole = convert(index, _INT32, False)
    clamped = clamp(np.int32(0), whole, np.int32(len(functions) - 1))
    names = [f"branch {i}" for i in range(len(functions))]
    return conditional(clamped, names, functions, operands)


def conditional(
    index: Value,
    names: Sequence[str],
    functions: Sequence[Callable[..., T]],
    operands: Sequence[PyTree],
    params: dict[str, Any] | None = None,
) -> T:
    """Traces functions of pytrees, and binds `cond` to them; `names` are for error messages."""
    leaves, tree = pytrees.tree_flatten(tuple(operands))
    avals = [get_aval(x) for x in leaves]
    by_identity: dict[int, Traced] = {}
    for f in functions:  # several branches may be the same function
        if id(f) not in by_identity:
            by_identity[id(f)] = trace_function(f, tree, avals, "cond")
    traced = [by_identity[id(f)] for f in functions]
    for f, t in zip(functions, traced, strict=True):
        check_refs(f, t, leaves)
    order = list(range(len(functions)))
    if names[0] == "true_fun":
        order.reverse()  # branch 0 of the primitive is the one for False
    check_branches(names, functions, traced)
    programs, consts = with_common_consts([traced[i] for i in order])
    outs = bind_branches(index, [*consts, *leaves], programs, params)
    return pytrees.tree_unflatten(traced[0].out_tree, outs)


_MISSING = object()


@api_boundary
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., T],
    false_fun: Callable[..., T],
    *operands: PyTree,
    operand: PyTree = _MISSING,
    linear: object = None,
) -> T:
    """Calls true_fun(*operands) if `pred` is true, otherwise false_fun(*operands).

    Args:
      pred: the predicate, a boolean or numeric scalar.
      true_fun: the function of `operands` to call if `pred` is true.
      false_fun: the function of `operands` to call otherwise. Its results have the same structure
        and types as those of `true_fun`. In the older form cond(pred, x, true_fun, y, false_fun),
        each function has its own operand.
      *operands: pytrees of arrays.
      operand: a single operand, passed by keyword instead of `operands`.
      linear: ignored; accepted for compatibility.

    Returns: the result of the function. Only one function is executed, except under `vmap` with a
      batched predicate, where both are executed and their results are selected elementwise.

    Raises:
      TypeError: if `pred` is not a scalar, or the results have different types.

    Example:
      >>> lax.cond(True, lambda x: x + 1, lambda x: x - 1, jnp.array([1, 2]))
      Array([2, 3], dtype=int32)
      >>> half = lambda n: lax.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1)
      >>> jax.jit(half)(7)
      Array(22, dtype=int32, weak_type=True)
    """
    if (
        len(operands) == 2
        and not callable(true_fun)
        and callable(false_fun)
        and callable(operands[1])
    ):
        x, f, (y, g) = true_fun, false_fun, operands

        def on_true(both: Sequence[object]) -> T:
            return f(both[0])

        def on_false(both: Sequence[object]) -> T:
            return g(both[1])

        return cond(pred, on_true, on_false, (x, y))
    if not callable(true_fun) or not callable(false_fun):
        raise TypeError(
            f"lax.cond: `true_fun` and `false_fun` must be functions, but are {true_fun!r} and "
            f"{false_fun!r}.\nInstead: to select between values, jnp.where(pred, x, y)"
        )
    if operand is not _MISSING:
        operands = (operand,)
    given: Any = pred
    if given is None:
        raise TypeError("lax.cond: `pred` must be a boolean or a number, but is None")
    aval: Any = get_aval(pred)
    if aval.shape != ():
        raise TypeError(
            f"lax.cond: `pred` must be a scalar, but has shape {aval.shape}: {pred}; use jnp.where "
            "to select elementwise"
        )
    if aval.dtype != np.bool_ and not dtypes.issubdtype(aval.dtype, np.number):
        raise TypeError(f"lax.cond: `pred` must be a boolean or a number, but is {aval.dtype}")
    if config.disable_jit_enabled() and not isinstance(pred, Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    if isinstance(pred, bool | int | float | complex | np.ndarray | np.generic):
        index = np.int32(bool(pred))
        return conditional(index, ("true_fun", "false_fun"), (true_fun, false_fun), operands)
    if aval.dtype != np.bool_:
        pred = calculus.ne(pred, rules.const(pred, 0))
    index = convert(as_value(pred), _INT32, False)
    return conditional(index, ("true_fun", "false_fun"), (true_fun, false_fun), operands)
