"""`loaded_program`: a call of a tensor IR program that another process traced.

It wraps the program in a jaxpr, for code that reads types and shardings from a jaxpr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler.hlo import traversal
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import AbstractValue

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.primitives.rule_types import Builder, Node

loaded_program_p = declare("loaded_program", multiple_results=True)
for _slot in ("eager", "jvp", "transpose", "batch"):
    loaded_program_p.absent(_slot, why="it is compiled already, and only `Compiled` calls it")


class LoadedModule:
    """A tensor IR program as an equation parameter; its repr is the program's name."""

    __slots__ = ("module", "out_avals")

    def __init__(self, module: ir.Module, out_avals: Sequence[AbstractValue]) -> None:
        self.module = module
        self.out_avals = tuple(out_avals)

    def __repr__(self) -> str:
        return self.module.name


@loaded_program_p.abstract
def _loaded_program_abstract(*_avals: AbstractValue, program: LoadedModule) -> list[AbstractValue]:
    return list(program.out_avals)


@loaded_program_p.lower
def _loaded_program_lower(b: Builder, *operands: Node, program: LoadedModule) -> list[Node]:
    region = program.module.region
    new: dict[Any, Any] = dict(zip(region.parameters, operands, strict=True))
    traversal.rebuild_all(b, traversal.roots(region), new)
    return [new[x] for x in region.results]


def loaded_jaxpr(
    module: ir.Module,
    in_avals: Sequence[AbstractValue],
    out_avals: Sequence[AbstractValue],
    arg_names: tuple[str, ...],
) -> ClosedJaxpr:
    """Returns a jaxpr with a single equation, which calls `module`."""
    program = LoadedModule(module, out_avals)
    info = DebugInfo("jit", module.name, arg_names)
    jaxpr, _, consts = trace_to_jaxpr(
        lambda *args: loaded_program_p.bind(*args, program=program), in_avals, info
    )
    return ClosedJaxpr(jaxpr, consts)
