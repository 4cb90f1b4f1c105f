"""Lowering of loops and branches on values of user-defined types to loops and branches on arrays.

This module implements the `lojax` rules of `scan`, `cond` and `while_loop`. The arrays that
represent a mutable value are carried by loops and returned by branches. The state of such a value,
which determines the types of the arrays, must be the same before and after an iteration, and the
same after all branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.tracing.hi_types import AvalQDD, HiVal
from jitney.core.types.avals import get_aval
from jitney.primitives import flat_trees
from jitney.transforms.lojax import (
    Lowered,
    lower_program,
    lowered_types,
    lowered_values,
    raised_values,
)

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import Primals, Value


def row_type(aval: AbstractValue) -> AbstractValue:
    """Returns the type of a row of a value of type `aval`, as a `scan` passes it to its body."""
    if aval.is_high:
        high: Any = aval
        return high.dec_rank(None, high.leading_axis_spec())
    array: Any = aval
    return array.dec_rank(None, array.leading_axis_spec())


def rows_type(aval: AbstractValue, length: int) -> AbstractValue:
    """Returns the type of `length` stacked values of type `aval`."""
    array: Any = aval
    return array.inc_rank(length, array.leading_axis_spec())


def _count(avals: Sequence[AbstractValue]) -> list[int]:
    return [len(a.lo_ty()) for a in avals]


def scan_on_arrays(
    values: Sequence[Value],
    params: dict[str, Any],
    bind: Callable[..., list[Any]],
    reordered: Callable[[ClosedJaxpr, Sequence[int], Sequence[int]], ClosedJaxpr],
) -> list[Value]:
    """Evaluates a `scan` on user-defined types as a `scan` on arrays; returns its results.

    Args:
      values: the operands.
      params: the parameters.
      bind: a function (constants, carry, rows, body, parameters) -> results of a `scan` on arrays.
      reordered: a function that permutes the operands and results of a program.

    Raises:
      TypeError: if a mutable value is a carry or an input of the loop.
    """
    n, n_plain = flat_trees.sizes(params)
    m = n + n_plain
    low = lower_program(params["jaxpr"])
    sizes = _count(low.in_avals)
    starts = [sum(sizes[:k]) for k in range(len(sizes) + 1)]

    def places(operands: Sequence[int]) -> list[int]:
        return [i for k in operands for i in range(starts[k], starts[k + 1])]

    held = [k for k in range(len(values)) if low.finals[k] is not None]
    if held and held[-1] >= n:
        raise TypeError(
            "scan: a mutable value can be closed over, but cannot be a carry or an input"
        )
    _check_states(low, "the body of a scan")
    kept = [k for k in range(n) if k not in held]
    carried = range(n, m)
    n_held, n_carry = len(places(held)), len(places(carried))
    n_out = len(lowered_types(low.out_avals))
    body = reordered(
        low.closed,
        [*places(kept), *places(held), *range(starts[n], starts[-1])],
        [*range(n_out, n_out + n_held), *range(n_out)],
    )
    types = [*low.in_avals[:m], *map(get_aval, values[m:])]

    def given(operands: Sequence[int]) -> list[Value]:
        return lowered_values([types[k] for k in operands], [values[k] for k in operands])

    outs = bind(
        given(kept), [*given(held), *given(carried)], given(range(m, len(values))), body, params
    )
    contents = iter(outs[:n_held])
    for k in held:
        _set(low.finals[k], values[k], contents)
    carry_types, y_types = low.out_avals[: m - n], low.out_avals[m - n :]
    carry = raised_values(carry_types, outs[n_held : n_held + n_carry])
    ys = raised_values([rows_type(a, params["length"]) for a in y_types], outs[n_held + n_carry :])
    return [*carry, *ys]


def _set(final: AvalQDD | None, value: HiVal, contents: Iterator[Any]) -> None:
    assert final is not None
    final.aval.update_from_loval(final.qdd, value, *[next(contents) for _ in final.lo_ty()])


def _check_states(low: Lowered, what: str) -> None:
    for first, last in zip(low.in_avals, low.finals, strict=True):
        if last is not None and last != first:
            raise TypeError(
                f"{what} changes the state of a mutable value of type {last.aval} from "
                f"{getattr(first, 'qdd', None)} to {last.qdd}; it must preserve the state"
            )


def cond_on_arrays(
    index: Value,
    operands: Sequence[Value],
    branches: Sequence[ClosedJaxpr],
    bind: Callable[[Value, Sequence[Any], Sequence[ClosedJaxpr]], list[Any]],
) -> list[Value]:
    """Evaluates a `cond` on user-defined types as a `cond` on arrays, which `bind` binds.

    Raises:
      TypeError: if branches leave a mutable value in different states.
    """
    lows = [lower_program(branch) for branch in branches]
    first = lows[0]
    for low in lows[1:]:
        if low.finals != first.finals:
            raise TypeError(
                "cond: all branches must leave a mutable value in the same state, but the states are "
                f"{first.finals} and {low.finals}"
            )
    outs = bind(index, first.operands(operands), [low.closed for low in lows])
    return first.results(outs, operands)


Contents: TypeAlias = "dict[int, list[Value]]"  # of mutable values, by id
LoopPart = Callable[
    [Callable[..., list[Any]], Sequence[Any], ClosedJaxpr], tuple[ClosedJaxpr, list[Any]]
]


def while_on_arrays(
    values: Sequence[Value],
    params: dict[str, Any],
    bind: Callable[..., list[Any]],
    as_loop_part: LoopPart,
) -> list[Value]:
    """Evaluates a `while_loop` on user-defined types as a `while_loop` on arrays.

    The arrays that represent mutable values are carried.

    Args:
      values: the operands.
      params: the parameters.
      bind: a function (operands, parameters) -> results of a `while_loop` on arrays.
      as_loop_part: a function (function, types of carries, original program) -> (program, values
        over which the function closes, which are the first operands of the program).

    Raises:
      TypeError: if the condition changes a mutable value.
    """
    n, m = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond, body = lower_program(params["cond_jaxpr"]), lower_program(params["body_jaxpr"])
    _check_states(body, "the body of a while_loop")
    _check_reads_only(cond)
    held: dict[int, tuple[AvalQDD, Value]] = {}  # by id, since condition and body may share a value
    for aval, x in zip((*cond.in_avals[:n], *body.in_avals), values, strict=True):
        if isinstance(aval, AvalQDD):
            held[id(x)] = aval, x
    n_held = len(lowered_types([aval for aval, _ in held.values()]))

    def run(part: Lowered, consts: Primals, carry: Primals) -> tuple[list[Value], Contents]:
        """Runs the condition or the body; returns (results, contents of mutable values by id)."""
        remaining = iter(carry)
        contents = {k: [next(remaining) for _ in aval.lo_ty()] for k, (aval, _) in held.items()}
        operands: list[Any] = []
        for aval, x in zip(part.in_avals, consts, strict=False):
            operands += contents[id(x)] if id(x) in held else aval.lower_val(x)
        outs = iter(eval_jaxpr(part.closed.jaxpr, part.closed.consts, *operands, *remaining))
        results = [next(outs) for _ in lowered_types(part.out_avals)]
        for final, x in zip(part.finals, consts, strict=False):
            if final is not None:
                contents[id(x)] = [next(outs) for _ in final.lo_ty()]
        return results, contents

    def goes_on(*carry: Any) -> list[Value]:
        return run(cond, values[:n], carry)[0]

    def step(*carry: Any) -> list[Value]:
        results, contents = run(body, values[n:m], carry)
        return [*(x for k in held for x in contents[k]), *results]

    carry = [x for aval, value in held.values() for x in aval.lower_val(value)]
    carry += lowered_values(body.in_avals[m - n :], values[m:])
    avals = [*map(get_aval, carry)]
    cond_part, cond_consts = as_loop_part(goes_on, avals, params["cond_jaxpr"])
    body_part, body_consts = as_loop_part(step, avals, params["body_jaxpr"])
    outs = bind(
        [*cond_consts, *body_consts, *carry],
        {
            "cond_jaxpr": cond_part,
            "cond_nconsts": len(cond_consts),
            "body_jaxpr": body_part,
            "body_nconsts": len(body_consts),
        },
    )
    contents = iter(outs[:n_held])
    for aval, value in held.values():
        _set(aval, value, contents)
    return raised_values(body.out_avals, outs[n_held:])


def _check_reads_only(cond: Lowered) -> None:
    """Raises TypeError if the condition of a `while_loop` changes a mutable value."""
    if _writes(cond):
        raise TypeError(
            "while_loop: the condition must not change a mutable value of a user's type"
        )


def _writes(low: Lowered) -> bool:
    """Returns whether a program changes the contents of one of its mutable operands."""
    operands = iter(low.closed.jaxpr.invars)
    last = iter(low.closed.jaxpr.outvars[len(lowered_types(low.out_avals)) :])
    for aval, final in zip(low.in_avals, low.finals, strict=True):
        first = [next(operands) for _ in aval.lo_ty()]
        if final is not None and (final != aval or first != [next(last) for _ in first]):
            return True
    return False
