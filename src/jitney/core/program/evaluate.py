"""Evaluation of jaxprs, equation by equation, under whatever trace is current."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, settings_of
from jitney.core.source import source_info

if TYPE_CHECKING:
    from jitney.core.typing import Value


def last_uses(jaxpr: Jaxpr) -> list[tuple[Var, ...]]:
    """Returns, for each equation, the variables that are last used there, except for results."""
    alive: set[Var] = {v for v in jaxpr.outvars if isinstance(v, Var)}
    dying: list[tuple[Var, ...]] = []
    for eqn in reversed(jaxpr.eqns):
        gone = {v for v in (*eqn.invars, *eqn.outvars) if isinstance(v, Var) and v not in alive}
        alive |= gone
        dying.append(tuple(gone))
    dying.reverse()
    return dying


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Value, propagate_source_info: bool = True
) -> list[Value]:
    """Returns the results of `jaxpr` on `args`, binding each equation under the current trace.

    Values are dropped after their last use. With `propagate_source_info`, recorded equations and
    errors refer to the source of the jaxpr's equations, rather than to where they are evaluated.
    """
    env: dict[Var, Any] = {}

    for var, value in zip(jaxpr.constvars, consts, strict=True):
        env[var] = value
    for var, value in zip(jaxpr.invars, args, strict=True):
        env[var] = value
    with source_info.origins() as come_from:
        for eqn, dying in zip(jaxpr.eqns, last_uses(jaxpr), strict=True):
            if propagate_source_info:
                come_from(eqn.source_info)
            operands = [value_of(atom, env) for atom in eqn.invars]
            with settings_of(eqn):
                out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            if eqn.primitive.multiple_results:
                env.update(zip(eqn.outvars, out, strict=True))
            else:
                env[eqn.outvars[0]] = out
            for var in dying:
                env.pop(var, None)
    return [value_of(atom, env) for atom in jaxpr.outvars]


def evaluate_by(
    apply: Callable[[JaxprEqn, list[Any]], Sequence[Any]],
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    args: Sequence[Any],
) -> list[Value]:
    """Returns the results of `jaxpr`; `apply` evaluates each equation under its settings."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        operands = [value_of(atom, env) for atom in eqn.invars]
        with settings_of(eqn):
            outs = apply(eqn, operands)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [value_of(atom, env) for atom in jaxpr.outvars]


def value_of(atom: Atom, env: Mapping[Var, Any]) -> Value:
    """Returns the value of a variable or literal, ready to be bound to a primitive."""
    if isinstance(atom, Var):
        return env[atom]
    # A weak literal must stay weak when it is bound again, as a Python scalar does.
    return atom.val.item() if getattr(atom.aval, "weak_type", False) else atom.val


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Value]]:
    """Returns `closed` as a function from flat arguments to a list of results."""

    def run(*args: Value) -> list[Value]:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return run
