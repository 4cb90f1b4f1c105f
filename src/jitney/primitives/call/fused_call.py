"""`fused_call`: a call of a program that should be compiled to one kernel.

The memory space of the program's operands is unspecified; that of the results is a parameter of the
equation. Lowering inlines the program, whose operations the compiler fuses in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.types.effects import moved
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives.call.call import divided_call
from jitney.primitives.call.function_call import FunctionCall, declare_call
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Primals, Tangents, Value
    from jitney.transforms.partial import PartialTrace


class _Fused(FunctionCall):
    """The primitive `fused_call`; results that a transformation adds are in device memory."""

    def call(
        self, program: ClosedJaxpr, operands: Sequence[Value], params: dict[str, Any]
    ) -> list[Any]:
        spaces: tuple[MemorySpace, ...] = params["out_spaces"]
        n = len(program.out_avals)
        spaces = (*spaces, *(MemorySpace.Device,) * n)[:n]
        return super().call(program, operands, {**params, "out_spaces": spaces})


fused_p = declare_call("fused_call", "jaxpr", _Fused)


def in_space(aval: AbstractValue, space: MemorySpace) -> AbstractValue:
    """Returns the type of an array in a memory space; other types are unchanged."""
    return aval.update(memory_space=space) if isinstance(aval, ShapedArray) else aval


def _fused_call_abstract(
    *_avals: object, jaxpr: ClosedJaxpr, out_spaces: tuple[MemorySpace, ...]
) -> Any:
    pairs = zip(jaxpr.out_avals, out_spaces, strict=True)
    n = len(jaxpr.jaxpr.constvars)
    return [in_space(aval, space) for aval, space in pairs], moved(jaxpr.effects, -n)


fused_p.def_effectful_abstract_eval(_fused_call_abstract)

_differentiated = fused_p.rules["jvp"]
_pruned = fused_p.rules["dce"]


def _fused_call_jvp(
    primals: Primals, tangents: Tangents, *, jaxpr: ClosedJaxpr, out_spaces: tuple[MemorySpace, ...]
) -> Any:
    outs, douts = _differentiated(primals, tangents, jaxpr=jaxpr, out_spaces=out_spaces)
    # The types of zeros are those of the results that the caller sees.
    pairs = zip(douts, out_spaces, strict=True)
    return outs, [Zero(in_space(t.aval, s)) if isinstance(t, Zero) else t for t, s in pairs]


def _fused_call_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    smaller: JaxprEqn = _pruned(used, eqn)
    pairs = zip(eqn.params["out_spaces"], used, strict=True)
    spaces = tuple([space for space, u in pairs if u])
    return smaller.replace(params={**smaller.params, "out_spaces": spaces})


def _fused_call_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Any]:
    """Splits a call into two calls, whose results are all in device memory."""

    def late_call(late: ClosedJaxpr, operands: Sequence[Value]) -> list[Any]:
        spaces = (MemorySpace.Device,) * len(late.out_avals)
        changed = {"jaxpr": late, "out_spaces": spaces}
        return trace.unknown_trace.process_primitive(fused_p, operands, changed)

    return divided_call(
        trace,
        unknown,
        args,
        params["jaxpr"],
        lambda known, operands: fused_p.call(known, operands, {"out_spaces": ()}),
        late_call,
    )


fused_p.replace_rule("jvp", _fused_call_jvp)
fused_p.replace_rule("partial", _fused_call_partial)
fused_p.replace_rule("dce", _fused_call_dce)
