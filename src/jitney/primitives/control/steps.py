"""Loops and branches evaluated one operation after the other, to find where a value comes from.

A compiled loop is checked as a whole (`runtime/debug_checks.py`): it says that NaN came out, not which
line of the body has made it, nor in which iteration. These evaluate the body as often as the loop
does, and the check after each operation raises; what iteration it was is added to the message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core import source_info
from jitney.core.evaluate import eval_jaxpr
from jitney.primitives import flat_trees
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.primitives.rule_types import Param, Value


def _note_iteration(error: FloatingPointError, number: int, place: str) -> None:
    """Adds to the message of a check that has failed which iteration of which loop it was."""
    loop = f"the loop at {place}" if place else "the loop"
    error.args = (f"{error}, in iteration {number} of {loop}",)


def _place() -> str:
    """Returns where the user calls the loop."""
    return source_info.summarize(source_info.current())


def scan_by_steps(*values: Value, **params: Param) -> None:
    """Evaluates a scan."""
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
    """Evaluates a while loop."""
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
    """Evaluates the branch that is chosen."""
    branches: tuple[ClosedJaxpr, ...] = params["branches"]
    branch = branches[min(max(int(as_value(index)), 0), len(branches) - 1)]
    eval_jaxpr(branch.jaxpr, branch.consts, *values)
