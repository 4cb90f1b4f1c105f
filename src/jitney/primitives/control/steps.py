"""Evaluation of loops and branches operation by operation, to locate the origin of a NaN.

The debug checks (`runtime/execution/debug_checks.py`) test the results of a compiled loop after it
has ended, so they report neither the line of the body nor the iteration that produced a NaN. These
functions evaluate the operations of the body in each iteration, so that the check after an
operation raises the error; the iteration is added to its message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.source import source_info
from jitney.primitives import flat_trees
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.primitives.rule_types import Param, Value


def _note_iteration(error: FloatingPointError, number: int, place: str) -> None:
    """Adds the loop and the iteration to the message of a failed check."""
    loop = f"the loop at {place}" if place else "the loop"
    error.args = (f"{error}, in iteration {number} of {loop}",)


def _place() -> str:
    """Returns the location of the loop in the user's code."""
    return source_info.summarize(source_info.current())


def scan_by_steps(*values: Value, **params: Param) -> None:
    """Evaluates a scan operation by operation."""
    body: ClosedJaxpr = params["jaxpr"]
    n_consts, n_carry = flat_trees.sizes(params)
    m = n_consts + n_carry
    consts, carry, rows = values[:n_consts], list(values[n_consts:m]), values[m:]
    columns: list[Any] = [as_value(x) for x in rows]
    length: int = params["length"]
    place = _place()
    for number in range(length):
        k = length - 1 - number if params["reverse"] else number
        row = [x[k] for x in columns]
        try:
            carry = eval_jaxpr(body.jaxpr, body.consts, *consts, *carry, *row)[:n_carry]
        except FloatingPointError as error:
            _note_iteration(error, number, place)
            raise


def while_by_steps(*values: Value, **params: Param) -> None:
    """Evaluates a while loop operation by operation."""
    cond: ClosedJaxpr = params["cond_jaxpr"]
    body: ClosedJaxpr = params["body_jaxpr"]
    n = params["cond_nconsts"]
    m = n + params["body_nconsts"]
    carry: list[Any] = list(values[m:])
    number, place = 0, _place()
    while True:
        try:
            if not eval_jaxpr(cond.jaxpr, cond.consts, *values[:n], *carry)[0]:
                return
            carry = eval_jaxpr(body.jaxpr, body.consts, *values[n:m], *carry)
        except FloatingPointError as error:
            _note_iteration(error, number, place)
            raise
        number += 1


def cond_by_steps(index: Value, *values: Value, **params: Param) -> None:
    """Evaluates the selected branch operation by operation."""
    branches: tuple[ClosedJaxpr, ...] = params["branches"]
    branch = branches[min(max(int(as_value(index)), 0), len(branches) - 1)]
    eval_jaxpr(branch.jaxpr, branch.consts, *values)
