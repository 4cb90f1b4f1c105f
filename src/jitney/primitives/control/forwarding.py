"""Analysis of forwarded operands: operands that a program returns unchanged as results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jitney.core.program.memo import memoize_by_identity
from jitney.primitives import flat_trees
from jitney.transforms.partial import dce_closed, dce_jaxpr


def forwarded(jaxpr: Jaxpr) -> tuple[int | None, ...]:
    """Returns for each result the index of the operand that is forwarded to it, or None.

    The analysis looks into loops, branches and calls.
    """
    origin: dict[Any, int] = {v: k for k, v in enumerate(jaxpr.invars)}
    for eqn in jaxpr.eqns:
        rule = _RULES.get(eqn.primitive.name)
        if rule is None:
            continue
        for out, operand in zip(eqn.outvars, rule(eqn), strict=True):
            source = None if operand is None else eqn.invars[operand]
            if isinstance(source, Var) and source in origin:
                origin[out] = origin[source]
    return tuple([origin.get(v) if isinstance(v, Var) else None for v in jaxpr.outvars])


def forwarded_by_all(branches: tuple[ClosedJaxpr, ...]) -> tuple[int | None, ...]:
    """Returns the operands that all `branches` forward to the same results; see `forwarded`."""
    columns = zip(*(forwarded(b.jaxpr) for b in branches), strict=True)
    return tuple([column[0] if len(set(column)) == 1 else None for column in columns])


def _of_call(eqn: JaxprEqn) -> tuple[int | None, ...]:
    return forwarded(eqn.params["jaxpr"].jaxpr)


def _of_cond(eqn: JaxprEqn) -> tuple[int | None, ...]:
    return tuple(None if k is None else k + 1 for k in forwarded_by_all(eqn.params["branches"]))


def _of_scan(eqn: JaxprEqn) -> tuple[int | None, ...]:
    params = eqn.params
    n_consts, n_carry = flat_trees.sizes(params)
    first_row = n_consts + n_carry

    def operand(result: int, source: int | None) -> int | None:
        is_constant_carry = result < n_carry and source == n_consts + result
        is_row = result >= n_carry and source is not None and source >= first_row
        return source if is_constant_carry or is_row else None

    return tuple([operand(k, source) for k, source in enumerate(forwarded(params["jaxpr"].jaxpr))])


def _of_while(eqn: JaxprEqn) -> tuple[int | None, ...]:
    n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    kept = constant_carries(eqn.params["body_jaxpr"], n_body)
    return tuple(n_cond + n_body + k if is_kept else None for k, is_kept in enumerate(kept))


_RULES: dict[str, Callable[[JaxprEqn], tuple[int | None, ...]]] = {
    "jit": _of_call, "cond": _of_cond, "scan": _of_scan, "while": _of_while,
}  # fmt: skip


def constant_carries(body: ClosedJaxpr, n_consts: int) -> tuple[bool, ...]:
    """Returns which carries never change in a loop with `body`(constants, carry)."""
    return tuple(source == n_consts + k for k, source in enumerate(forwarded(body.jaxpr)))


@memoize_by_identity
def with_carries_as_constants(
    closed: ClosedJaxpr, n_consts: int, moved: tuple[bool, ...], is_body: bool, behind: int
) -> ClosedJaxpr:
    """Turns the carries marked in `moved` into constants of `closed`(constants, carry).

    Args:
      closed: the condition or the body of a loop.
      n_consts: number of its constants.
      moved: whether each carry is moved.
      is_body: whether `closed` is the body, whose results are the carries; the moved carries are
        removed from the results, too.
      behind: number of constants that precede the moved carries.
    """
    jaxpr = closed.jaxpr
    consts, carry = jaxpr.invars[:n_consts], jaxpr.invars[n_consts:]
    added = [v for v, m in zip(carry, moved, strict=True) if m]
    remaining = [v for v, m in zip(carry, moved, strict=True) if not m]
    outvars = jaxpr.outvars
    if is_body:
        outvars = [v for v, m in zip(outvars, moved, strict=True) if not m]
    invars = [*consts[:behind], *added, *consts[behind:], *remaining]
    info = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    return ClosedJaxpr(
        jaxpr.replace(invars=invars, outvars=outvars, debug_info=info), closed.consts
    )


def unseen_constant_carries(
    condition: ClosedJaxpr, n_cond: int, body: ClosedJaxpr, n_body: int
) -> tuple[bool, ...]:
    """Returns which carries the body returns unchanged and the condition does not read."""
    same = constant_carries(body, n_body)
    if not any(same):
        return same
    _, needed = dce_jaxpr(condition.jaxpr, (True,))
    return tuple([s and not need for s, need in zip(same, needed[n_cond:], strict=True)])


def without_carries(closed: ClosedJaxpr, n_consts: int, left_out: tuple[bool, ...]) -> ClosedJaxpr:
    """Removes the carries in `left_out`, and dead code, from a condition(constants, carry)."""
    kept = (*(True,) * n_consts, *(not out for out in left_out))
    return dce_closed(closed, (True,), kept)[0]
