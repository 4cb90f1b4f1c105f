"""Primitives that are defined by a program of other primitives, for lowering and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.types.avals import shaped_array

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.primitives.rule_types import Builder, Node, Value


def lower_by(prim: Primitive, meaning: Callable[..., Sequence[Value]]) -> None:
    """Sets the lowering of `prim`: traces `meaning(*arrays, **params)`, a sequence of results."""

    @prim.lower
    def lower_rule(b: Builder, *nodes: Node, **params: object) -> Node | list[Node]:
        avals = [shaped_array(n.shape, n.dtype) for n in nodes]
        info = DebugInfo("lowering", prim.name)
        jaxpr, _, consts = trace_to_jaxpr(lambda *xs: meaning(*xs, **params), avals, info)
        outs = lowering.inline(b, ClosedJaxpr(jaxpr, consts), nodes)
        return outs if prim.multiple_results else outs[0]

    prim.absent(
        "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
    )
