"""Primitives that call functions: `call`, `closed_call` and `xla_metadata_call`.

`bind(*operands, subfuns=(function,))` calls a wrapped function of flat values. In eager mode it
runs the function; within a trace it records an equation whose parameter `call_jaxpr` or `jaxpr` is
the traced program. `bind` also accepts this parameter in place of the function. Lowering inlines
the program. The other parameters of `xla_metadata_call` are attributes for the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr, jaxpr_as_fun
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from jitney.core.recording.compat import CallPrimitive
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.recording.linear_util import wrap_init
from jitney.core.tracing.primitive import Primitive, registry
from jitney.core.tracing.trace import state
from jitney.core.types.avals import get_aval
from jitney.primitives.call.call import divided_call, transposed_program, weakness_of
from jitney.primitives.call.inlined import calls_program, other_dtypes, transposed_call
from jitney.transforms.accumulators import GradAccum, ValAccum
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.jet import jet_jaxpr, present, types_of, unpacked
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.logs import checked_log
from jitney.transforms.partial import dce_closed
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    from jitney.primitives.rule_types import (
        BatchDim,
        Cotangent,
        Dims,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms import jet
    from jitney.transforms.logs import Log
    from jitney.transforms.partial import PartialTrace


class FunctionCall(CallPrimitive):
    """A primitive that calls a function of flat values, which returns a sequence of flat values.

    In equations, the called program is the parameter with the name `parameter`.
    """

    def __init__(self, name: str, parameter: str) -> None:
        super().__init__(name)
        self.parameter = parameter

    def bind(self, *args: Value, **params: Any) -> Sequence[Value]:
        """Calls the function `subfuns[0]`, or a program.

        Args:
          *args: the arguments. If a program that is not closed is called, the values of its
            constants precede them.
          **params: `subfuns`, a tuple that contains the function, or the program under the name of
            the equation's parameter; and further parameters of the equation.
        """
        if "subfuns" not in params:
            called: Jaxpr = params.pop(self.parameter)
            if not called.is_closed:
                called = closed_of(constants_as_operands(called))
            if state.trace is state.eval_trace:
                return eval_jaxpr(called.jaxpr, called.consts, *args)
            return self.call(called, args, params)
        (function,) = params.pop("subfuns")
        if state.trace is state.eval_trace:
            return function.call_wrapped(*args)
        jaxpr, _, consts = trace_to_jaxpr(
            function.call_wrapped, [get_aval(x) for x in args], function.debug_info
        )
        # Values of enclosing traces must be operands.
        return self.call(closed_of(constants_as_operands(jaxpr)), [*consts, *args], params)

    def call(
        self, program: ClosedJaxpr, operands: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        """Binds the primitive to a program and its operands."""
        return state.trace.process_primitive(self, operands, {**params, self.parameter: program})

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, object]:
        """Converts an equation's parameters to those of `bind`; its program becomes a function."""
        program: ClosedJaxpr = params[self.parameter]
        function = wrap_init(jaxpr_as_fun(program), debug_info=program.jaxpr.debug_info)
        other_params = {name: value for name, value in params.items() if name != self.parameter}
        return {**other_params, "subfuns": (function,)}


def _program(parameter: object) -> ClosedJaxpr:
    assert isinstance(parameter, Jaxpr)
    return parameter


Call: TypeAlias = "Callable[[ClosedJaxpr, Sequence[Value], dict[str, Any]], list[Any]]"
"""A function that binds a call primitive: (program, operands, further parameters) -> results."""


def _set_derivatives(prim: Primitive, parameter: str, call: Call) -> None:
    """Sets the rules for derivatives: the derivative of a call is a call of the derivative."""

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, **params: object
    ) -> tuple[Sequence[Value], Sequence[Tangent]]:
        called = _program(params.pop(parameter))
        nonzero = tuple(type(t) is not Zero for t in tangents)
        program, nonzero_out = jvp_jaxpr(called, nonzero, False)
        nonzero_tangents = [t for t in tangents if not isinstance(t, Zero)]
        outs = call(program, [*primals, *nonzero_tangents], params)
        n = len(called.out_avals)
        types = [a.to_tangent_aval() for a in called.out_avals]
        return outs[:n], with_zeros(outs[n:], nonzero_out, types)

    @prim.jet
    def jet_rule(
        primals: Primals, series: Sequence[jet.Terms], **params: object
    ) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
        called = _program(params.pop(parameter))
        program, out_terms = jet_jaxpr(called, types_of(series), len(series[0]))
        outs = call(program, [*primals, *present(series)], params)
        n = len(called.out_avals)
        return outs[:n], unpacked(outs[n:], called.out_avals, out_terms)

    @prim.logged_transpose
    def transpose_rule(
        cts: Sequence[Cotangent], *args: Operand, **params: object
    ) -> tuple[Sequence[Cotangent | None], Log]:
        called = _program(params.pop(parameter))
        return transposed_call(
            lambda linear, nonzero: transposed_program(
                called, linear, nonzero, weakness_of(cts), other_dtypes(cts, called.out_avals)
            ),
            lambda program, operands: call(program, operands, params),
            cts,
            args,
        )


def _set_rules(prim: Primitive, parameter: str, call: Call) -> None:
    """Sets all rules of a primitive that calls the program in its parameter `parameter`."""
    calls_program(prim, parameter)
    _set_derivatives(prim, parameter, call)

    @prim.partial
    def partial_rule(
        trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        return divided_call(
            trace,
            unknown,
            args,
            params[parameter],
            lambda known, operands: call(known, operands, params),
            lambda late, operands: trace.unknown_trace.process_primitive(
                prim, operands, {**params, parameter: late}
            ),
        )

    @prim.batch_with_axis
    def batch_with_axis_rule(
        axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: object
    ) -> tuple[Sequence[Value], Sequence[BatchDim]]:
        called = _program(params.pop(parameter))
        program, out_dims = batch_jaxpr_at(called, axis_data, tuple(dims))
        return call(program, args, params), out_dims

    @prim.dce
    def dce_rule(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
        program, needed = dce_closed(eqn.params[parameter], tuple(used), False)
        return eqn.replace(
            params={**eqn.params, parameter: program},
            invars=[a for a, n in zip(eqn.invars, needed, strict=True) if n],
            outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        )


def declare_call(
    name: str, parameter: str = "call_jaxpr", kind: type[FunctionCall] = FunctionCall
) -> FunctionCall:
    """Returns a new primitive that calls the program in its parameter `parameter`."""
    prim = registry[name] = kind(name, parameter)
    _set_rules(prim, parameter, prim.call)
    prim.absent("eager", why="evaluated by calling the function")
    return prim


call_p = declare_call("call")
closed_call_p = declare_call("closed_call")
xla_metadata_call_p = declare_call("xla_metadata_call", "jaxpr")


# --- for libraries --------------------------------------------------------------------------------

_PARAMETER = "call_jaxpr"


def create_call_primitive(name: str, inline_jax_late: bool = True) -> Primitive:
    """Returns a new primitive that calls the program in its parameter `call_jaxpr`.

    Args:
      name: name of the primitive, as jaxprs print it.
      inline_jax_late: accepted for compatibility; lowering always inlines the program.

    Example:
      >>> from jax.extend.core import create_call_primitive
      >>> marked = create_call_primitive("marked")
      >>> program = jax.make_jaxpr(lambda x: [x * x])(1.0)
      >>> jax.grad(lambda x: marked.bind(x, call_jaxpr=program)[0])(3.0)
      Array(6., dtype=float32, weak_type=True)
    """
    prim = Primitive(name)
    prim.multiple_results = True
    register_call_primitive_rules(prim, name, inline_jax_late=inline_jax_late)
    return prim


def register_call_primitive_rules(
    prim: Primitive,
    name: str | None = None,
    transpose_rule: Callable[..., Any] | None = None,
    inline_jax_late: bool = True,
) -> None:
    """Sets all rules of a primitive that calls the program in its parameter `call_jaxpr`.

    Args:
      prim: a primitive with `multiple_results` set.
      name: accepted for compatibility; messages show the name of `prim`.
      transpose_rule: a function (cotangents of the results, *operands, call_jaxpr, **parameters).
        Each operand whose cotangent is needed is replaced by an accumulator, whose method `accum`
        adds a cotangent. The function may return entries for the log of the backward pass. The
        default is `functools.partial(eval_jaxpr_transpose, prim)`.
      inline_jax_late: accepted for compatibility; lowering always inlines the program.
    """

    def call(
        program: ClosedJaxpr, operands: Sequence[Value], params: dict[str, Any]
    ) -> list[Value]:
        return prim.bind(*operands, **{**params, _PARAMETER: program})

    def evaluated(*args: Value, call_jaxpr: ClosedJaxpr, **_: object) -> list[Value]:
        return eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)

    _set_rules(prim, _PARAMETER, call)
    prim.def_impl(evaluated)
    if transpose_rule is not None:
        prim.replace_rule("logged_transpose", _WithAccumulators(prim, transpose_rule))


def eval_jaxpr_transpose(
    prim: Primitive,
    ct: Sequence[Cotangent],
    *args: Operand | GradAccum,
    call_jaxpr: ClosedJaxpr,
    **params: object,
) -> Log:
    """Transposes a call, and adds the cotangents of its linear operands to their accumulators.

    Args:
      prim: the primitive that calls the transposed program.
      ct: cotangents of the results.
      *args: the operands, with an accumulator in place of each operand in which the call is linear.
      call_jaxpr: the program.
      **params: further parameters of the call.

    Returns: the log of the transposed program.
    """
    operands: list[Any] = [
        UndefinedPrimal(x.aval.to_cotangent_aval()) if isinstance(x, GradAccum) else x for x in args
    ]
    transpose = prim.rules["logged_transpose"]
    if isinstance(transpose, _WithAccumulators):
        transpose = transpose.default
    operand_cts, log = transpose(ct, *operands, call_jaxpr=call_jaxpr, **params)
    for x, found in zip(args, operand_cts, strict=True):
        if isinstance(x, GradAccum):
            x.accum(found)
    return log


class _WithAccumulators:
    """Adapts a transpose rule that adds to accumulators to the interface that returns cotangents.

    Attributes:
      default: the rule that the adapter replaces.
    """

    __name__ = "transpose_rule"

    def __init__(self, prim: Primitive, rule: Callable[..., Any]) -> None:
        self._prim = prim
        self._rule = rule
        self.default = prim.rules["logged_transpose"]

    def __call__(
        self, cts: Sequence[Cotangent], *args: Operand, **params: object
    ) -> tuple[Sequence[Cotangent | None], Log]:
        accums: list[Any] = [
            ValAccum(x.aval.to_cotangent_aval()) if isinstance(x, UndefinedPrimal) else x
            for x in args
        ]
        log = self._rule(cts, *accums, **params)
        operand_cts = [x.freeze() if isinstance(x, GradAccum) else None for x in accums]
        return operand_cts, checked_log(log, f"the transpose rule of {self._prim}")
