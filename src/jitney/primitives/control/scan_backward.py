"""The body of the loop that is the transpose of a `scan`.

It maps (known constants, accumulated cotangents of linear constants, cotangents of the carry,
cotangents of the stacked results' rows, known rows) to (accumulated cotangents of linear constants,
cotangents of the carry, cotangents of linear rows, leaves of the log).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import retrace
from jitney.core.util.record import record
from jitney.primitives.call.call import with_weakness
from jitney.transforms.logs import flat_log
from jitney.transforms.transpose import (
    TransposedProgram,
    UndefinedPrimal,
    logged_backward_pass,
)
from jitney.transforms.zero import add_tangents, instantiate, with_zeros

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import Operand, Value
    from jitney.transforms.logs import Log

T = TypeVar("T")


@record(eq=False)
class BackwardIteration:
    """An iteration of the loop that is the transpose of a `scan`.

    Attributes:
      jaxpr: the body of the transposed `scan`; it is linear in the carry.
      n_carry: number of carries.
      linear_consts: whether the body is linear in each constant.
      linear_xs: whether the body is linear in each row.
      nonzero_ys: whether each stacked result has a nonzero cotangent.
      weak: whether each cotangent of the carry and each nonzero cotangent of stacked results is
        weakly typed.
    """

    jaxpr: ClosedJaxpr
    n_carry: int
    linear_consts: tuple[bool, ...]
    linear_xs: tuple[bool, ...]
    nonzero_ys: tuple[bool, ...]
    weak: tuple[bool, ...]

    def _parts(self, xs: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
        """Splits `xs`, one item per operand of the body, by constants, carries and rows."""
        start = len(self.linear_consts)
        stop = start + self.n_carry
        return xs[:start], xs[start:stop], xs[stop:]

    def _y_avals(self) -> list[AbstractValue]:
        return [a.to_cotangent_aval() for a in self.jaxpr.out_avals[self.n_carry :]]

    def in_avals(self, const_avals: Sequence[AbstractValue]) -> list[AbstractValue]:
        """Returns the operand types; `const_avals` are the cotangent types of linear constants."""
        consts, carry, xs = self._parts(self.jaxpr.in_avals)
        of_ys = [a for a, nz in zip(self._y_avals(), self.nonzero_ys, strict=True) if nz]
        return [
            *(a for a, lin in zip(consts, self.linear_consts, strict=True) if not lin),
            *const_avals,
            *with_weakness([*(a.to_cotangent_aval() for a in carry), *of_ys], self.weak),
            *(a for a, lin in zip(xs, self.linear_xs, strict=True) if not lin),
        ]

    def body(self, *values: Value) -> tuple[list[Value], Log]:
        """Runs one iteration; returns (cotangents, log)."""
        remaining = iter(values)

        def take(n: int) -> list[Value]:
            return list(itertools.islice(remaining, n))

        given_consts = iter(take(self.linear_consts.count(False)))
        ct_consts = take(self.linear_consts.count(True))
        ct_carry = take(self.n_carry)
        cts_y = iter(take(sum(self.nonzero_ys)))
        consts, carry, xs = self._parts(self.jaxpr.in_avals)
        primals = [
            *_undefined_where(self.linear_consts, consts, given_consts),
            *map(UndefinedPrimal, carry),
            *_undefined_where(self.linear_xs, xs, remaining),
        ]
        out_cts = [*ct_carry, *with_zeros(cts_y, self.nonzero_ys, self._y_avals())]
        operand_cts, log = logged_backward_pass(
            self.jaxpr.jaxpr, self.jaxpr.consts, primals, out_cts
        )
        new_consts, new_carry, new_xs = self._parts(operand_cts)
        new_consts = [ct for ct, lin in zip(new_consts, self.linear_consts, strict=True) if lin]
        new_xs = [ct for ct, lin in zip(new_xs, self.linear_xs, strict=True) if lin]
        total = [add_tangents(a, b) for a, b in zip(ct_consts, new_consts, strict=True)]
        return [instantiate(ct) for ct in (*total, *new_carry, *new_xs)], log


def _undefined_where(
    linear: Sequence[bool], avals: Sequence[AbstractValue], known: Iterator[Value]
) -> list[Operand]:
    """Returns operands for transposition: undefined if linear, otherwise the next of `known`."""
    return [
        UndefinedPrimal(a) if lin else next(known) for a, lin in zip(avals, linear, strict=True)
    ]


@memoize_by_identity
def backward_program(
    jaxpr: ClosedJaxpr,
    n_carry: int,
    linear_consts: tuple[bool, ...],
    linear_xs: tuple[bool, ...],
    nonzero_ys: tuple[bool, ...],
    const_avals: tuple[AbstractValue, ...],
    weak: tuple[bool, ...],
) -> TransposedProgram:
    """Traces `BackwardIteration.body` to the body of the transposed loop.

    `const_avals` are the cotangent types of linear constants. See `BackwardIteration` for the
    other arguments.
    """
    back = BackwardIteration(jaxpr, n_carry, linear_consts, linear_xs, nonzero_ys, weak)
    log_tree: Any = None

    def fun(*values: Value) -> list[Value]:
        nonlocal log_tree
        cts, log = back.body(*values)
        entries, log_tree = flat_log(log)
        return [*cts, *entries]

    closed = retrace("scan", fun, back.in_avals(const_avals), jaxpr)
    has_ct = (True,) * (sum(linear_consts) + n_carry + sum(linear_xs))
    return TransposedProgram(closed, has_ct, log_tree)
