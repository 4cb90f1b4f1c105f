"""The `jit` primitive: a call of a program from within a program.

Evaluated, it compiles and runs the program; lowered, it is inlined: one native program comes out
whatever the nesting. Its printing rule gives the inner program the outer names.
"""

from __future__ import annotations

from typing import Any

from jitney.compiler import lower as lowering
from jitney.core import text
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from jitney.core.primitive import declare

jit_p = declare("jit", multiple_results=True)
jit_p.effectful = True


@jit_p.abstract
def _(*avals: Any, jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


@jit_p.lower
def _(b: Any, *nodes: Any, jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return lowering.inline(b, jaxpr, nodes)


jit_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)
jit_p.absent("jvp", "transpose", "batch", why="comes with the transformations")


def _print_jit(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    shown: list[tuple[str, Any]] = [("name", params["name"])]
    if any(params["donated_invars"]):
        shown.append(("donated_invars", params["donated_invars"]))
    shown.append(("jaxpr", params["jaxpr"]))
    if params["keep_unused"]:
        shown.append(("keep_unused", True))
    if params["inline"]:
        shown.append(("inline", True))
    inner = params["jaxpr"].jaxpr
    if inner not in context.shared:
        _share_names(eqn, inner, context)
    return text.eqn_with_params(eqn, shown, context, settings)


def _share_names(eqn: JaxprEqn, inner: Any, context: text.Context) -> None:
    """Gives operands and results of the inner program the names they have outside."""
    given: set[str] = set()
    for var, atom in zip(inner.invars, eqn.invars, strict=True):
        if isinstance(atom, Literal):
            continue
        name = context.name(atom)
        if name not in given:
            given.add(name)
            context.var_names[var] = name
    for outer in eqn.outvars:
        context.name(outer)
    for atom, outer in zip(inner.outvars, eqn.outvars, strict=True):
        if isinstance(atom, Var) and atom not in context.var_names:
            context.var_names[atom] = context.name(outer)


text.printing_rules["jit"] = _print_jit
