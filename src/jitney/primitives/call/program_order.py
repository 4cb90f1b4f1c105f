"""`program_order`: a call whose equations the compiler does not reorder.

Lowering inlines the program. With `enforce`, a barrier precedes each equation except the first one:
the operands of an equation become available together with the results of the preceding equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler import lower as lowering
from jitney.core.program.evaluate import value_of
from jitney.core.program.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, settings_of
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.types.avals import ShapedArray
from jitney.primitives.array.annotations import optimization_barrier_p
from jitney.primitives.call.call import divided_call
from jitney.primitives.call.function_call import FunctionCall, declare_call
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Builder, Node, Primals, Tangents, Value
    from jitney.transforms.partial import PartialTrace


class _ProgramOrder(FunctionCall):
    """The primitive `program_order`.

    If a transformation changes the number of operands, no operand is excluded from the order.
    """

    def call(
        self, program: ClosedJaxpr, operands: Sequence[Value], params: dict[str, Any]
    ) -> list[Any]:
        if len(params["exclude_mask"]) != len(operands):
            params = {**params, "exclude_mask": (False,) * len(operands)}
        return super().call(program, operands, params)


program_order_p = declare_call("program_order", kind=_ProgramOrder)


# --- order ----------------------------------------------------------------------------------------


def _fenced(atoms: Sequence[Any], env: dict[Var, Any]) -> None:
    """Replaces the values of the variables among `atoms` by results of one barrier."""
    variables = [
        v for v in dict.fromkeys(atoms) if isinstance(v, Var) and isinstance(v.aval, ShapedArray)
    ]
    if len(variables) > 1:
        outs = optimization_barrier_p.bind(*[env[v] for v in variables])
        env.update(zip(variables, outs, strict=True))


def _awaiting(eqn: JaxprEqn) -> list[Any]:
    """Returns the operands of an equation that wait for the results of the preceding equation.

    These are all operands, except those that an inner `program_order` excludes.
    """
    atoms: list[Any] = [a for a in eqn.invars if not isinstance(a, Literal)]
    if eqn.primitive is program_order_p and not eqn.params["enforce"]:
        mask: Sequence[bool] = eqn.params["exclude_mask"]
        return [
            a
            for a, excluded in zip(eqn.invars, mask, strict=True)
            if not excluded and not isinstance(a, Literal)
        ]
    return atoms


@memoize_by_identity
def _ordered(closed: ClosedJaxpr, strict_in: bool, strict_out: bool) -> ClosedJaxpr:
    """Returns the program with a barrier before each equation except the first one.

    Args:
      closed: the program.
      strict_in: whether the first equation awaits all operands.
      strict_out: whether all results become available together, after the last equation.
    """
    jaxpr = closed.jaxpr

    def fun(*args: Value) -> list[Any]:
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        if strict_in:
            _fenced(jaxpr.invars, env)
        before: list[Var] = []
        for eqn in jaxpr.eqns:
            if before:
                _fenced([*before, *_awaiting(eqn)], env)
            operands = [value_of(atom, env) for atom in eqn.invars]
            with settings_of(eqn):
                out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            outs = out if eqn.primitive.multiple_results else [out]
            env.update(zip(eqn.outvars, outs, strict=True))
            before = list(eqn.outvars)
        if strict_out:
            _fenced(jaxpr.outvars, env)
        return [value_of(atom, env) for atom in jaxpr.outvars]

    ordered, _, consts = trace_to_jaxpr(fun, closed.in_avals, jaxpr.debug_info)
    return ClosedJaxpr(ordered, consts)


def _program_order_lower(
    b: Builder, *nodes: Node, call_jaxpr: ClosedJaxpr, enforce: bool, exclude_mask: tuple[bool, ...],
    strict_in: bool, strict_out: bool,
) -> Any:  # fmt: skip
    program = _ordered(call_jaxpr, strict_in, strict_out) if enforce else call_jaxpr
    return lowering.inline(b, program, nodes)


program_order_p.replace_rule("lower", _program_order_lower)


# --- transformations, which change the number of operands -----------------------------------------

_differentiated = program_order_p.rules["jvp"]
_pruned = program_order_p.rules["dce"]


def _kept(mask: Sequence[bool], kept: Sequence[bool]) -> tuple[bool, ...]:
    return tuple([m for m, k in zip(mask, kept, strict=True) if k])


def _program_order_jvp(
    primals: Primals, tangents: Tangents, *, exclude_mask: tuple[bool, ...], **params: object
) -> Any:
    of_tangents = _kept(exclude_mask, [not isinstance(t, Zero) for t in tangents])
    mask = (*exclude_mask, *of_tangents)
    return _differentiated(primals, tangents, exclude_mask=mask, **params)


def _program_order_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    smaller: JaxprEqn = _pruned(used, eqn)
    remaining = iter(smaller.invars)
    following = next(remaining, None)
    kept: list[bool] = []
    for atom in eqn.invars:  # the remaining ones are in order
        kept.append(atom is following)
        following = next(remaining, None) if kept[-1] else following
    mask = _kept(eqn.params["exclude_mask"], kept)
    return smaller.replace(params={**smaller.params, "exclude_mask": mask})


def _program_order_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Any]:
    mask = _kept(params["exclude_mask"], [not u for u in unknown])

    def late_call(late: ClosedJaxpr, operands: Sequence[Value]) -> list[Any]:
        none = (False,) * len(operands)
        changed = {**params, "call_jaxpr": late, "exclude_mask": none}
        return trace.unknown_trace.process_primitive(program_order_p, operands, changed)

    return divided_call(
        trace,
        unknown,
        args,
        params["call_jaxpr"],
        lambda known, operands: program_order_p.call(
            known, operands, {**params, "exclude_mask": mask}
        ),
        late_call,
    )


program_order_p.replace_rule("jvp", _program_order_jvp)
program_order_p.replace_rule("dce", _program_order_dce)
program_order_p.replace_rule("partial", _program_order_partial)
