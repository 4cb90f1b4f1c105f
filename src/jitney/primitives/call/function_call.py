"""Calls of functions that stay calls in programs: `call`, `closed_call` and `xla_metadata_call`.

`bind(*operands, subfuns=(function,))` calls a wrapped function of flat values: at once where
operations are evaluated; elsewhere its program is a parameter of an equation, `call_jaxpr` or `jaxpr`.
Lowered, it is inlined. The other parameters of `xla_metadata_call` are attributes for the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.avals import get_aval
from jitney.core.compat import CallPrimitive
from jitney.core.evaluate import jaxpr_as_fun
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.linear_util import wrap_init
from jitney.core.primitive import registry
from jitney.core.trace import state
from jitney.primitives.call.call import divided_call, transposed_program, weakness_of
from jitney.primitives.call.inlined import calls_program, transposed_call
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.jet import jet_jaxpr, present, types_of, unpacked
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.partial import dce_closed
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    from jitney.primitives.rule_types import (
        Cotangent,
        Dims,
        Operand,
        Primals,
        Tangents,
        Value,
    )
    from jitney.transforms import jet
    from jitney.transforms.partial import PartialTrace


class FunctionCall(CallPrimitive):
    """A call of a function of flat values, which returns a sequence of such.

    Its program is the parameter `parameter`.
    """

    def __init__(self, name: str, parameter: str) -> None:
        super().__init__(name)
        self.parameter = parameter

    def bind(self, *args: Value, **params: Any) -> Any:
        """Calls the function `subfuns[0]`.

        Args:
          *args: its arguments.
          **params: `subfuns`, a tuple of the function alone; further parameters of the equation.
        """
        (function,) = params.pop("subfuns")
        if state.trace is state.eval_trace:
            return function.call_wrapped(*args)
        jaxpr, _, consts = trace_to_jaxpr(
            function.call_wrapped, [get_aval(x) for x in args], function.debug_info
        )
        # Values of traces around it must be operands.
        jaxpr = jaxpr.replace(
            constvars=[],
            invars=[*jaxpr.constvars, *jaxpr.invars],
            debug_info=jaxpr.debug_info._replace(arg_names=None),
        )
        return self.call(ClosedJaxpr(jaxpr, ()), [*consts, *args], params)

    def call(
        self, program: ClosedJaxpr, operands: Sequence[Value], params: dict[str, Any]
    ) -> list[Any]:
        """Calls a program."""
        return state.trace.process_primitive(self, operands, {**params, self.parameter: program})

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """What `bind` wants of an equation's parameters: the program as a function."""
        program: ClosedJaxpr = params[self.parameter]
        function = wrap_init(jaxpr_as_fun(program), debug_info=program.jaxpr.debug_info)
        other_params = {name: value for name, value in params.items() if name != self.parameter}
        return {**other_params, "subfuns": (function,)}


def _program(parameter: object) -> ClosedJaxpr:
    assert isinstance(parameter, Jaxpr)
    return parameter


def _declare_derivatives(prim: FunctionCall) -> None:
    """Set the rules by which derivatives of calls are calls of derivatives."""
    parameter = prim.parameter

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: object) -> Any:
        called = _program(params.pop(parameter))
        nonzero = tuple(type(t) is not Zero for t in tangents)
        program, nonzero_out = jvp_jaxpr(called, nonzero, False)
        nonzero_tangents = [t for t in tangents if not isinstance(t, Zero)]
        outs = prim.call(program, [*primals, *nonzero_tangents], params)
        n = len(called.out_avals)
        types = [a.to_tangent_aval() for a in called.out_avals]
        return outs[:n], with_zeros(outs[n:], nonzero_out, types)

    @prim.jet
    def jet_rule(primals: Primals, series: Sequence[jet.Terms], **params: object) -> Any:
        called = _program(params.pop(parameter))
        program, out_terms = jet_jaxpr(called, types_of(series), len(series[0]))
        outs = prim.call(program, [*primals, *present(series)], params)
        n = len(called.out_avals)
        return outs[:n], unpacked(outs[n:], called.out_avals, out_terms)

    @prim.transpose
    def transpose_rule(cts: Sequence[Cotangent], *args: Operand, **params: object) -> list[Any]:
        called = _program(params.pop(parameter))
        return transposed_call(
            lambda linear, nonzero: transposed_program(called, linear, nonzero, weakness_of(cts)),
            lambda program, operands: prim.call(program, operands, params),
            cts,
            args,
        )


def _declare(name: str, parameter: str = "call_jaxpr") -> FunctionCall:
    prim = registry[name] = FunctionCall(name, parameter)
    calls_program(prim, parameter)
    prim.absent("eager", why="evaluated by calling the function")
    _declare_derivatives(prim)

    @prim.partial
    def partial_rule(
        trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Any]:
        return divided_call(
            trace,
            unknown,
            args,
            params[parameter],
            lambda known, operands: prim.call(known, operands, params),
            lambda late, operands: trace.unknown_trace.process_primitive(
                prim, operands, {**params, parameter: late}
            ),
        )

    @prim.batch_with_axis
    def batch_with_axis_rule(
        axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: object
    ) -> Any:
        called = _program(params.pop(parameter))
        program, out_dims = batch_jaxpr_at(called, axis_data, tuple(dims))
        return prim.call(program, args, params), out_dims

    @prim.dce
    def dce_rule(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
        program, needed = dce_closed(eqn.params[parameter], tuple(used), False)
        return eqn.replace(
            params={**eqn.params, parameter: program},
            invars=[a for a, n in zip(eqn.invars, needed, strict=True) if n],
            outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        )

    return prim


call_p = _declare("call")
closed_call_p = _declare("closed_call")
xla_metadata_call_p = _declare("xla_metadata_call", "jaxpr")
