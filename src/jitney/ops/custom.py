"""The `custom_jvp_call` primitive: a program that brings its own derivative.

Evaluated and lowered it is its program; the derivative rule is a parameter that differentiation
calls.
"""

from __future__ import annotations

from typing import Any

from jitney.compiler import lower as lowering
from jitney.core import text
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.primitive import declare

custom_jvp_call_p = declare("custom_jvp_call", multiple_results=True)
custom_jvp_call_p.effectful = True


@custom_jvp_call_p.abstract
def _(*avals: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return call_jaxpr.out_avals, call_jaxpr.effects


@custom_jvp_call_p.lower
def _(b: Any, *nodes: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
    return lowering.inline(b, call_jaxpr, nodes)


custom_jvp_call_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)
custom_jvp_call_p.absent("jvp", "transpose", "batch", why="comes with the transformations")


def _print_custom_jvp(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    shown = [
        ("name", params["name"]),
        ("call_jaxpr", params["call_jaxpr"]),
        ("jvp", params["jvp"]),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["custom_jvp_call"] = _print_custom_jvp
