"""Eager mode: the trace that evaluates operations outside of any transformation.

The type rule of a primitive, which is memoized, runs first and raises errors to users; then the
reference implementation runs immediately. Primitives without a reference implementation, such as
calls of programs, and operations on arrays with more axes than NumPy supports, are compiled as
programs of one equation.
Features that observe operations are in `runtime/features`.
"""

# `ArrayImpl._data` and `_value` are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Var
from jitney.core.settings import config
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.hi_types import is_high_value, with_state
from jitney.core.tracing.primitive import Primitive, evaluators
from jitney.core.tracing.trace import Trace, Tracer, escaped_tracer_error, install_eval_trace
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval, host_values, many_axes
from jitney.core.types.refs import is_ref
from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold
from jitney.runtime.arrays import terms
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy, copied, is_deep
from jitney.runtime.arrays.donation import used_up
from jitney.runtime.compilation import lazy_compiler
from jitney.runtime.execution import debug_checks, dispatch, placements
from jitney.runtime.execution.assignment import assign

if TYPE_CHECKING:
    from jitney.core.typing import Value

_errors, _quiet = float_errors.variable, float_errors.quiet
_ndarray = np.ndarray
_SCALARS = (bool, int, float, complex, np.generic)


class EvalTrace(Trace):
    """The trace that computes each operation immediately."""

    __slots__ = ()

    names_sources = False

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> Any:
        """Computes an operation.

        Args:
          primitive, args, params: the operation.
          built_in: whether to use the primitive's built-in rule even if `def_impl` has replaced it.
        """
        if not lazy_compiler.started:
            lazy_compiler.start()
        impl = primitive.user_impl
        if impl is not None and not built_in:
            return impl(*[_checked(x) for x in args], **params)
        values: list[np.ndarray] = []
        avals: list[AbstractValue] = []
        lent: list[np.ndarray] = []
        for x in args:
            if type(x) is ArrayImpl:
                if x.placement is not None:
                    return self._process_placed(primitive, args, params, built_in)
                value = x._value
                values.append(value if type(value) is _ndarray else x._data())
                avals.append(x.aval)
            else:
                is_scalar = isinstance(x, _SCALARS)
                if not is_scalar and (evaluate := evaluator_for(x)) is not None:
                    return evaluate(primitive, args, params)
                value, aval = host_operand(x)
                values.append(value)
                avals.append(aval)
                if not is_scalar:
                    lent.append(value)
        # As `Primitive.typed` does, inlined: this is the hot path, run once per operation.
        try:
            typed = primitive.abstract_memo.get((*map(id, avals), *params.items()))
        except TypeError:  # unhashable parameters
            typed = None
        (out, _), _, evaluator = typed or primitive.typed(tuple(avals), params)
        rule = primitive.eager_rule
        if rule is None:
            return _run_as_program(primitive, tuple(avals), args, params, out)
        if evaluator is not None:
            return evaluator.evaluate(primitive, avals, args, params, out)
        outer = _errors.get()
        try:  # `try` begins before the change: an interrupt may come before its result is stored
            _errors.set(_quiet)
            results = rule(*values, **params)
        finally:
            _errors.set(outer)
        if primitive.multiple_results:
            return _arrays_of(results, out, lent)
        if lent:
            results = unshared(results, lent)
        array = array_from_numpy(results, out)
        if out.has_default_place:
            return array
        place = explicit.place_of(out)
        return array if place is None else array.placed(place)

    def _process_placed(
        self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any], built_in: bool
    ) -> object:
        """Computes an operation with committed operands; its results are committed, too."""
        if primitive.eager_rule is None and not primitive.is_evaluated_by_user(built_in):
            avals = tuple([get_aval(x) for x in args])
            return _run_as_program(
                primitive, avals, args, params, primitive.result_type(avals, params)[0]
            )
        assignment = assign(args, describe=lambda i: f"argument {i} of {primitive}")
        avals = tuple([get_aval(x) for x in args])
        if assignment.spans_processes:  # this process holds only its block of such arrays
            return _run_as_program(
                primitive, avals, args, params, primitive.result_type(avals, params)[0]
            )
        is_explicit = explicit.is_explicit(avals)
        types = primitive.result_type(avals, params)[0] if is_explicit else None
        if types is not None and _leaves_sums(types if primitive.multiple_results else [types]):
            return _run_as_program(primitive, avals, args, params, types)
        bare = [
            array_from_numpy(x._value, explicit.typed(x.aval, None)) if type(x) is ArrayImpl else x
            for x in args
        ]
        with explicit.as_written() if is_explicit else nullcontext():
            results = EvalTrace.process_primitive(self, primitive, bare, params, built_in)
        outs = results if primitive.multiple_results else (results,)
        if types is not None:
            places = placements.of_types(
                types if primitive.multiple_results else [types], assignment
            )
        else:
            program = functools.partial(
                _program_of, primitive, avals, params,
                [get_aval(x) for x in outs] if primitive.multiple_results else get_aval(results),
            )  # fmt: skip
            places = placements.of_operation(program, assignment, len(outs))
        placed = [
            x.placed(place) if type(x) is ArrayImpl and place is not None else x
            for x, place in zip(outs, places, strict=True)
        ]
        return placed if primitive.multiple_results else placed[0]

    def __repr__(self) -> str:
        return "EvalTrace"

    __str__ = __repr__


def _arrays_of(
    results: Sequence[np.ndarray],
    avals: Sequence[ShapedArray],
    lent: Sequence[np.ndarray],
) -> list[ArrayImpl]:
    """Makes arrays of an operation's results, which may share memory that was `lent`."""
    arrays: list[ArrayImpl] = []
    # A loop, since a comprehension is a function call: this is a hot path.
    for value, aval in zip(results, avals, strict=True):
        arrays.append(array_from_numpy(unshared(value, lent) if lent else value, aval))
    return arrays


class _DeepArrays:
    """An evaluator that compiles operations on arrays with more axes than NumPy supports.

    See `runtime.arrays.array`.
    """

    def concerns(self, avals: Sequence[AbstractValue]) -> bool:
        """See `Evaluator`."""
        return any(map(is_deep, avals))

    def evaluate(
        self,
        primitive: Primitive,
        avals: Sequence[AbstractValue],
        args: Sequence[Any],
        params: dict[str, Any],
        out: Any,
    ) -> object:
        """See `Evaluator`."""
        return _run_as_program(primitive, tuple(avals), args, params, out)


def _run_on_refs(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> object:
    """Evaluates an operation that calls programs and has mutable references as operands."""
    avals = tuple([get_aval(_checked(x)) for x in args])
    out, _ = primitive.result_type(avals, params)
    outs = _on_refs(_program_of(primitive, avals, params, out), args, dispatch.run)
    return outs if primitive.multiple_results else outs[0]


_on_refs: Callable[..., Any]


def _run_lowered(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> object:
    """Evaluates an operation that calls programs and has operands of high types."""
    avals = tuple([with_state(get_aval(_checked(x)), x) for x in args])
    out, _ = primitive.result_type(avals, params)
    outs = _lowered(_program_of(primitive, avals, params, out), args, dispatch.run)
    return outs if primitive.multiple_results else outs[0]


_lowered: Callable[..., Any]


def evaluator_for(x: Value) -> Callable[..., object] | None:
    """Returns the evaluator for operations on `x`, if it is a reference or of a high type."""
    if is_ref(x):
        return _run_on_refs
    return _run_lowered if is_high_value(x) else None


def _leaves_sums(avals: Sequence[AbstractValue]) -> bool:
    """Returns whether any of these types is unreduced."""
    places = [explicit.sharding_of(aval) for aval in avals]
    return any([place is not None and terms.names_of_terms(place) for place in places])


_with_terms: Callable[..., list[Any] | None]


def use_terms(evaluate: Callable[..., list[Any] | None]) -> None:
    """Registers the evaluator of programs with unreduced values, from `api.unreduced`."""
    global _with_terms
    _with_terms = evaluate


def use_lowering(evaluate: Callable[..., Any]) -> None:
    """Registers the evaluator of programs on values of high types, from `transforms.lojax`."""
    global _lowered
    _lowered = evaluate


def use_refs(evaluate: Callable[..., Any]) -> None:
    """Registers the evaluator of programs on mutable references, `primitives.refs.evaluate`."""
    global _on_refs
    _on_refs = evaluate


def unshared(result: np.ndarray, lent: Sequence[np.ndarray]) -> np.ndarray:
    """Returns `result`, or a copy if it may share memory with arrays `lent` by the caller.

    The caller may write to these arrays later, and they must not become read-only, unlike the data
    of jitney's arrays.
    """
    for x in lent:
        if result is x or np.may_share_memory(result, x):  # (empty ones share none)
            return copied(result, result.dtype)
    return result


def _checked(x: Value) -> Value:
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x)
    return x


def host_operand(x: Value | np.generic) -> tuple[np.ndarray, ShapedArray]:
    """Returns the data and type of an operand that is not a runtime array.

    Raises:
      UnexpectedTracerError: if `x` is a tracer, as its trace must have ended.
      TypeError: if `x` is not a valid operand.
      OverflowError: if `x` is a Python integer that its dtype cannot hold.
    """
    if isinstance(x, Tracer):
        raise escaped_tracer_error(x)
    if isinstance(x, ArrayImpl):
        return x._data(), x.aval
    aval = get_aval(x)
    assert isinstance(aval, ShapedArray), aval
    if not isinstance(x, (_ndarray, *_SCALARS)):
        convert = getattr(x, "__jax_array__", None)
        if convert is not None:
            return host_operand(convert())
        if type(x) in host_values:
            return host_operand(host_values[type(x)](x))
    return np.asarray(x, dtypes.physical_dtype(aval.dtype)), aval


def owned(x: Value | np.generic) -> ArrayImpl:
    """Returns an operand as a runtime array whose memory no other object can write to."""
    value, aval = host_operand(x)
    if isinstance(x, _ndarray):
        value = unshared(value, [x])
    elif not isinstance(x, _SCALARS):
        value = copied(value, value.dtype)
    return array_from_numpy(value, aval)


def _run_as_program(
    primitive: Primitive,
    avals: tuple[AbstractValue, ...],
    args: Sequence[Any],
    params: dict[str, Any],
    out: Any,
) -> object:
    closed = _program_of(primitive, avals, params, out)
    if _leaves_sums((*avals, *closed.out_avals)):
        requests = placements.or_context_mesh(placements.requests_of(closed))
        sums = _with_terms(closed, args, assign(args, requests=requests), primitive.name)
        if sums is not None:
            return sums if primitive.multiple_results else sums[0]
    donated: Sequence[bool] = params.get("donated_invars", ())
    assignment = None
    if any(donated):  # the call of a jitted function, by its equation
        donated, _ = used_up(params["jaxpr"], donated, params["keep_unused"])
        requests = placements.or_context_mesh(placements.requests_of(closed))
        assignment = assign(args, donated, requests=requests)
    name = params.get("name", primitive.name) if primitive.called is not None else primitive.name
    try:
        results = dispatch.run(closed, args, assignment, name=name)
    except FloatingPointError as error:
        if config.checks_values() and not any(donated):
            _raise_where_it_arises(error, name, primitive, args, params)
        raise
    return results if primitive.multiple_results else results[0]


def _raise_where_it_arises(
    error: FloatingPointError,
    name: str,
    primitive: Primitive,
    args: Sequence[Any],
    params: dict[str, Any],
) -> None:
    """Raises the error of the operation within `primitive`, called `name`, whose result is bad."""
    if primitive.called is not None:
        called: ClosedJaxpr = params[primitive.called]
        debug_checks.raise_where_it_arises(
            error, name, lambda: eval_jaxpr(called.jaxpr, called.consts, *args)
        )
    by_steps = debug_checks.BY_STEPS.rule_of(primitive)
    if by_steps is not None and not any(map(is_ref, args)):
        debug_checks.raise_where_it_arises(error, name, lambda: by_steps(*args, **params))


def run_compiled(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Returns the results of `primitive` on arrays, computed by compiled code."""
    avals = tuple([get_aval(_checked(x)) for x in args])
    out, _ = primitive.result_type(avals, params)
    return _run_as_program(primitive, avals, args, params, out)


def _program_of(
    primitive: Primitive, avals: tuple[AbstractValue, ...], params: dict[str, Any], out: Any
) -> ClosedJaxpr:
    """Returns a program of one equation; equal operations share one program."""
    if primitive.is_transparent and primitive.called is not None:
        # Derivative rules among the parameters are new objects at each call.
        called = params[primitive.called]
        if type(called) is Jaxpr and tuple(called.in_avals) == avals:
            return called
    key: Any = (primitive, avals, tuple(params.items()), config.trace_epoch())
    try:
        program = _programs.get(key)
    except TypeError:
        key, program = None, None
    if program is None:
        invars = [Var(aval) for aval in avals]
        outvars = [Var(aval) for aval in (out if primitive.multiple_results else (out,))]
        effects = primitive.result_type(avals, params)[1]
        eqn = JaxprEqn(list(invars), outvars, primitive, params, effects, None)
        info = DebugInfo("eager", str(primitive))
        program = ClosedJaxpr(Jaxpr((), invars, outvars, [eqn], effects, info), ())
        if key is not None:
            if len(_programs) >= _PROGRAMS_LIMIT:
                _programs.clear()
            _programs[key] = program
    return program


_programs: dict[Any, ClosedJaxpr] = {}
_PROGRAMS_LIMIT = threshold(1024, small=8)  # number of one-equation programs kept

install_eval_trace(EvalTrace())
many_axes.installs(functools.partial(evaluators.install, _DeepArrays()))
