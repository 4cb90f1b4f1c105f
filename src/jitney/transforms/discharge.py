"""Discharge: converts programs with mutable references to programs without references.

A reference is replaced by the array that it holds: an operand for its initial contents and, if the
program may change it, an additional result for its final contents. References that a program
creates itself are eliminated. Programs are discharged before they are compiled, and before they are
transposed.

Operations on references have a rule in the slot `discharge`, and so do operations that pass
references to programs among their parameters:

    discharge    (which, *values, **params) -> (results, contents)

`which` marks the operands that are references; the corresponding `values` are the arrays that they
hold. `contents` has the arrays that the references hold afterwards, or None for unchanged
references. A result that is a reference is replaced by its contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import value_of
from jitney.core.program.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    fact_of_program,
    jaxprs_in_params,
    settings_of,
)
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare_slot
from jitney.core.types.refs import AbstractRef, AccumEffect, WriteEffect, array_type

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Value

DISCHARGE = declare_slot("discharge")


@fact_of_program
def has_inner_refs(jaxpr: Jaxpr) -> bool:
    """Returns whether a program, or one nested in it, creates references."""
    return any(
        eqn.primitive.makes_ref
        or any(has_inner_refs(p.jaxpr) for p in jaxprs_in_params(eqn.params))
        for eqn in jaxpr.eqns
    )


def changed_refs(jaxpr: Jaxpr) -> list[bool]:
    """Returns which operands of `jaxpr` are references to which it may write."""
    n = len(jaxpr.constvars)
    changed = {e.input_index - n for e in jaxpr.effects if isinstance(e, WriteEffect | AccumEffect)}
    return [k in changed for k in range(len(jaxpr.invars))]


def content_type(aval: AbstractValue, is_content: bool = True) -> AbstractValue:
    """Returns the type of the array in a reference of type `aval`, and other types unchanged."""
    return array_type(aval) if is_content and isinstance(aval, AbstractRef) else aval


def discharged(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Returns `closed`, whose operands are not references, without inner references.

    The result is `closed` itself if it creates no references.
    """
    if not has_inner_refs(closed.jaxpr):
        return closed
    return discharge(closed, (False,) * len(closed.in_avals))[0]


@memoize_by_identity
def discharge(closed: ClosedJaxpr, which: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """Returns `closed` with references replaced by arrays.

    Args:
      closed: a program.
      which: the operands to replace; references that are not marked are kept.

    Returns: a pair (program, flags of the operands that change). The program maps the operands to
      the results, followed by the final contents of changed references.
    """
    changed = [w and c for w, c in zip(which, changed_refs(closed.jaxpr), strict=True)]

    def run(*args: Value) -> list[Value]:
        outs, contents = _evaluate(closed.jaxpr, closed.consts, args, which)
        return [*outs, *(x for x, c in zip(contents, changed, strict=True) if c)]

    avals = [content_type(a, w) for a, w in zip(closed.in_avals, which, strict=True)]
    jaxpr, _, consts = trace_to_jaxpr(run, avals, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), changed


def discharge_with_consts(
    jaxpr: Jaxpr, consts: Sequence[Any], which: Sequence[bool]
) -> tuple[Jaxpr, Sequence[Value], list[bool]]:
    """Discharges a program whose constants are passed separately; see `discharge`.

    Args:
      jaxpr: a program.
      consts: the values of its constants.
      which: the operands to replace.

    Returns: a tuple (program, values of its constants, flags of the operands that change). The
      program maps the operands to the results, followed by the final contents of changed
      references.
    """
    n = len(jaxpr.constvars)
    closed, changed = discharge(closed_of(constants_as_operands(jaxpr)), (*(False,) * n, *which))
    inner = closed.jaxpr
    variables = [*inner.constvars, *inner.invars[:n]]
    pure = inner.replace(constvars=variables, invars=inner.invars[n:])
    return pure, [*closed.consts, *consts], changed[n:]


def _evaluate(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], which: Sequence[bool]
) -> tuple[list[Value], list[Value]]:
    """Evaluates `jaxpr`; returns (results, final contents of the operands marked in `which`)."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    held: set[Var] = {v for v, w in zip(jaxpr.invars, which, strict=True) if w}
    for eqn in jaxpr.eqns:
        values = [value_of(atom, env) for atom in eqn.invars]
        marks = tuple([type(a) is Var and a in held for a in eqn.invars])
        with settings_of(eqn):
            outs = _apply(eqn, marks, values, env)
        env.update(zip(eqn.outvars, outs, strict=True))
        held.update(v for v in eqn.outvars if type(v.aval) is AbstractRef)
    outs = [value_of(atom, env) for atom in jaxpr.outvars]
    return outs, [value_of(v, env) for v in jaxpr.invars]


def _apply(
    eqn: JaxprEqn, marks: tuple[bool, ...], values: Sequence[Any], env: dict[Var, Any]
) -> Sequence[Value]:
    """Returns the results of an equation, and stores new contents of references in `env`."""
    primitive, params = eqn.primitive, eqn.params
    rule = DISCHARGE.rule_of(primitive)
    makes = rule is not None and any([has_inner_refs(p.jaxpr) for p in jaxprs_in_params(params)])
    if primitive.makes_ref or any(marks) or makes:
        if rule is None:
            raise NotImplementedError(
                f"primitive '{primitive}' has no rule for mutable array references, but some of its "
                "operands are references"
            )
        outs, contents = rule(marks, *values, **params)
        for atom, content in zip(eqn.invars, contents, strict=True):
            if content is not None and isinstance(atom, Var):
                env[atom] = content
    else:
        inner_params = {name: _without_inner(value) for name, value in params.items()}
        outs = primitive.bind(*values, **primitive.get_bind_params(inner_params))
    return outs if primitive.multiple_results else [outs]


def _without_inner(value: object) -> object:
    """Returns a parameter of an equation, with the programs in it discharged."""
    if isinstance(value, Jaxpr):
        if value.is_closed:
            return discharged(value)
        if not has_inner_refs(value):
            return value
        return discharged(closed_of(constants_as_operands(value))).jaxpr
    if type(value) is tuple:
        return tuple(map(_without_inner, cast("tuple[Any, ...]", value)))
    return value


def with_contents(
    changed: Sequence[bool], outs: Sequence[Any], n_out: int
) -> tuple[list[Value], list[Value | None]]:
    """Splits the results of a discharged program into (results, contents), as rules return them.

    Args:
      changed: the operands whose contents follow the results.
      outs: the results and contents.
      n_out: the number of results.
    """
    contents = iter(outs[n_out:])
    return list(outs[:n_out]), [next(contents) if c else None for c in changed]
