"""Lowering of programs on values of high-level types to programs on arrays.

The program is run on instances of the users' classes that hold tracers of the lowered program;
user-defined operations call their `to_lojax`. Programs are lowered just before they are compiled;
differentiation and batching apply to the original programs.

Loops, branches and other operations with programs as parameters have a rule in the slot `lojax`,
which maps the operands and parameters to the results; calls are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, has_high_program, is_high
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.hi_primitive import HiPrimitive
from jitney.core.tracing.hi_types import AvalQDD, cur_qdd, is_high_value
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import CustomCall, Trace, set_current_trace, state
from jitney.core.types.avals import get_aval
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Value

LOJAX = declare_slot("lojax")


class LoweringTrace(Trace):
    """A trace that runs `to_lojax` of high-level operations; its parent handles all others."""

    __slots__ = ("parent_trace",)

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent_trace = parent

    def pure(self, x: Value) -> Value:
        if is_high_value(x):
            return x
        with set_current_trace(self.parent_trace):
            return self.parent_trace.pure(x)

    lift = pure

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]
    ) -> object:
        with set_current_trace(self):
            if isinstance(primitive, HiPrimitive):
                return primitive.to_lojax(*args, **params)
            if any([is_high_value(x) for x in args]) or has_high_program(params):
                return self._process_high(primitive, args, params)
        with set_current_trace(self.parent_trace):
            return self.parent_trace.process_primitive(primitive, args, params)

    def _process_high(
        self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any]
    ) -> object:
        rule = LOJAX.rule_of(primitive)
        if rule is not None:
            return rule(*args, **params)
        if primitive.called is None:
            types = ", ".join([get_aval(x).str_short() for x in args])
            raise TypeError(
                f"{primitive} takes arrays, but its operands have the types {types}; to define "
                "operations on values of other types, use jax.experimental.hijax.HiPrimitive"
            )
        program = params[primitive.called]
        return eval_jaxpr(program.jaxpr, program.consts, *args)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Inlines the function, since derivatives have already been computed."""
        with set_current_trace(self):
            return call.inline(leaves)

    process_custom_vjp_call = process_custom_jvp_call


@record(eq=False)
class Lowered:
    """A program on values of high-level types, lowered to a program on arrays.

    Attributes:
      closed: the lowered program, which maps the lowered operands to the lowered results, followed
        by the final values of mutable operands.
      in_avals, out_avals: the types of the operands and results of the original program. Types of
        mutable values include a state, which is the initial one for operands.
      finals: for each operand, its type with the final state if it is mutable, otherwise None.
    """

    closed: ClosedJaxpr
    in_avals: list[AbstractValue]
    out_avals: list[AbstractValue]
    finals: list[AvalQDD | None]

    def operands(self, args: Sequence[Any]) -> list[object]:
        """Returns the lowered forms of the operands `args` of the original program."""
        return [x for a, v in zip(self.in_avals, args, strict=True) for x in a.lower_val(v)]

    def results(self, outs: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """Returns the results of the original program, and updates the mutable operands."""
        values_left = iter(outs)
        results = [_raised(a, values_left) for a in self.out_avals]
        for final, arg in zip(self.finals, args, strict=True):
            if final is not None:
                values = [next(values_left) for _ in final.lo_ty()]
                final.aval.update_from_loval(final.qdd, arg, *values)
        return results


def _raised(aval: AbstractValue, values: Iterator[Any]) -> object:
    return aval.raise_val(*[next(values) for _ in aval.lo_ty()])


def lowered_values(avals: Sequence[AbstractValue], values: Sequence[Any]) -> list[Value]:
    """Returns the concatenation of the lowered forms of `values`, which have types `avals`."""
    return [x for a, v in zip(avals, values, strict=True) for x in a.lower_val(v)]


def raised_values(avals: Sequence[AbstractValue], values: Sequence[Any]) -> list[Any]:
    """Returns the values of types `avals` that lower to `values`."""
    remaining = iter(values)
    return [_raised(a, remaining) for a in avals]


def lowered_types(avals: Sequence[AbstractValue]) -> list[AbstractValue]:
    """Returns the concatenation of the types to which `avals` are lowered."""
    return [t for a in avals for t in a.lo_ty()]


def _with_last_state(aval: AbstractValue, x: Value) -> AbstractValue:
    return AvalQDD(aval.aval, cur_qdd(x)) if isinstance(aval, AvalQDD) else aval


@memoize_by_identity
def lower_program(closed: ClosedJaxpr) -> Lowered:
    """Lowers `closed` to a program on arrays."""
    finals: list[AvalQDD | None] = []
    out_avals: list[AbstractValue] = []

    def run(*values: Value) -> list[Value]:
        args = raised_values(closed.in_avals, values)
        with set_current_trace(LoweringTrace(state.trace)):
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *args)
            out_avals.extend(map(_with_last_state, closed.out_avals, outs))
            lo_outs = lowered_values(out_avals, outs)
            for aval, x in zip(closed.in_avals, args, strict=True):
                final = AvalQDD(aval.aval, cur_qdd(x)) if isinstance(aval, AvalQDD) else None
                finals.append(final)
                if final is not None:
                    lo_outs += final.read_loval(x)
        return lo_outs

    info = closed.jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    jaxpr, _, consts = trace_to_jaxpr(run, lowered_types(closed.in_avals), info)
    return Lowered(ClosedJaxpr(jaxpr, consts), closed.in_avals, out_avals, finals)


def lowered(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Returns `closed`, or its lowered form if it has values of high-level types."""
    return lower_program(closed).closed if is_high(closed) else closed


def run_lowered(
    closed: ClosedJaxpr, args: Sequence[Any], run: Callable[[ClosedJaxpr, list[Any]], Any]
) -> list[object]:
    """Returns the results of `closed` on `args`; `run` runs the lowered program on arrays."""
    low = lower_program(closed)
    return low.results(run(low.closed, low.operands(args)), args)
