"""The type checker of jaxprs, with the constraints on well-formed programs.

var.C1   each variable is bound once, before it is read
eqn.C1   the primitive's type rule maps the operands' types to the results' types
eqn.C2   the equation's effects are those that the rule returns
eqn.C3   sizes in types are Python integers or symbolic dimensions, not NumPy integers
out.C1   results are variables in scope, or literals
"""

from __future__ import annotations

import numpy as np

from jitney.core.messages import messages
from jitney.core.program.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from jitney.core.types.avals import AbstractValue, ShapedArray


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed."""


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Checks `jaxpr` and the jaxprs within it.

    Raises:
      JaxprTypeError: if a constraint is violated; the message names it, the equation and the types.
    """
    stack: list[Jaxpr] = [jaxpr]
    while stack:
        current = stack.pop()
        _check_one(current)
        for eqn in current.eqns:
            stack += jaxprs_in_params(eqn.params)


def _check_one(jaxpr: Jaxpr) -> None:
    scope: set[Var] = set()

    def bind(var: Var, where: object) -> None:
        if var in scope:
            raise JaxprTypeError(f"variable {var!r} is bound twice, again by {where} [var.C1]")
        scope.add(var)

    def check_atom(atom: Atom, where: object, constraint: str) -> None:
        if isinstance(atom, Var) and atom not in scope:
            raise JaxprTypeError(
                f"variable {atom!r} is read but not in scope: {where} [{constraint}]"
            )

    for var in (*jaxpr.constvars, *jaxpr.invars):
        bind(var, "the parameters")
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            check_atom(atom, eqn, "var.C1")
        _check_eqn(eqn)
        for var in eqn.outvars:
            bind(var, eqn)
    for atom in jaxpr.outvars:
        check_atom(atom, "the results", "out.C1")


def _check_eqn(eqn: JaxprEqn) -> None:
    avals = tuple(atom.aval for atom in eqn.invars)
    for atom in eqn.invars:
        if isinstance(atom, Literal) and isinstance(atom.aval, ShapedArray):
            assert atom.aval.shape == (), atom
    try:
        out, effects = eqn.primitive.result_type(avals, eqn.params)
    except Exception as error:
        types = ", ".join([aval.str_short() for aval in avals])
        raise JaxprTypeError(
            f"the type rule of {eqn.primitive} does not accept operands of types {types} with "
            f"these parameters: {type(error).__name__}: {error} [eqn.C1]"
        ) from error
    expected = list(out) if eqn.primitive.multiple_results else [out]
    if len(expected) != len(eqn.outvars):
        raise JaxprTypeError(
            f"{eqn.primitive} returns {messages.counted(len(expected), 'result')} but binds "
            f"{len(eqn.outvars)}: {eqn} [eqn.C1]"
        )
    for var, aval in zip(eqn.outvars, expected, strict=True):
        if not same_type(var.aval, aval):
            raise JaxprTypeError(
                f"{eqn.primitive} returns {aval} but binds it to {var.aval}: {eqn} [eqn.C1]"
            )
        if isinstance(var.aval, ShapedArray) and any(
            [isinstance(n, np.integer) for n in var.aval.shape]
        ):
            raise JaxprTypeError(
                f"{eqn.primitive} returns the shape {var.aval.shape}, whose sizes include NumPy "
                f"integers: {eqn} [eqn.C3]"
            )
    if set(effects) != set(eqn.effects):
        raise JaxprTypeError(
            f"{eqn.primitive} has effects {set(effects)} but the equation has {set(eqn.effects)} "
            "[eqn.C2]"
        )


def same_type(a: AbstractValue, b: AbstractValue) -> bool:
    """Returns whether two types are equal up to weak types."""
    return a.strip_weak_type() == b.strip_weak_type()
