"""Staging: running a Python function on tracers to record it as a jaxpr.

`JaxprTrace` records every operation as an equation, in order, at the cost of a few microseconds
each. Values from outside the function become constants: Python and NumPy scalars become literals in
the equations, arrays become constant variables, and tracers of outer traces become constant
variables whose value is the tracer (code that stages within another trace passes these on as
operands).

Nothing is simplified here: the jaxpr records exactly what the function did.
"""

# A trace recognizes its own tracers by their `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.program.jaxpr import (
    Atom,
    ClosedJaxpr,
    DebugInfo,
    Jaxpr,
    JaxprEqn,
    JaxprEqnContext,
    Literal,
    Var,
)
from jitney.core.recording.recording_interceptors import features as interceptors, recorded_types
from jitney.core.recording.ref_checks import check_none_returned
from jitney.core.settings import config
from jitney.core.sharding_in_types.varying import UnequalAxes, type_of
from jitney.core.source import source_info
from jitney.core.source.name_stack import NameStack
from jitney.core.tracing import compile_time_eval, leaks
from jitney.core.tracing.hi_types import AvalMutableQDD, AvalQDD, MutableQDD, with_state
from jitney.core.tracing.pvary import in_order, pvary_p, reduced_vary_cast_p
from jitney.core.tracing.trace import (
    Trace,
    Tracer,
    escaped_tracer_error,
    leave_ended_trace,
    set_current_trace,
    state,
)
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval, host_values
from jitney.core.types.effects import Effect
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Params, Value


class DynamicJaxprTracer(Tracer):
    """A tracer for a variable or literal of the jaxpr under construction.

    The name is JAX's: it appears in messages, and libraries look for it.
    """

    __module__ = "jax._src.interpreters.partial_eval"  # libraries derive an array's package from it
    __slots__ = ("atom", "aval", "origin")

    aval: AbstractValue

    def __init__(
        self,
        trace: JaxprTrace,
        aval: AbstractValue,
        atom: Atom,
        origin: source_info.SourceInfo | None,
    ) -> None:
        self._trace = trace
        self.aval = aval  # pyright: ignore[reportIncompatibleMethodOverride]  # in a slot
        self.atom = atom  # not `var`, as arrays have a method of that name
        self.origin = origin  # source info of the line that created it; None for arguments

    def _origin_msg(self) -> str:
        trace = self._trace
        assert isinstance(trace, JaxprTrace)
        return trace.origin_message(self)

    def __repr__(self) -> str:
        return f"JitTracer({self.aval})"

    def __str__(self) -> str:
        from jitney.core.messages import print_notes

        print_notes.of_print()
        return repr(self)

    @property
    def val(self) -> Atom:
        return self.atom


class JaxprTrace(Trace):
    """A trace that records operations as the equations of a jaxpr."""

    is_staging = True

    __slots__ = (
        "_const_tracers",
        "_copies",
        "_keep_alive",
        "const_values",
        "constvars",
        "debug_info",
        "effects",
        "eqns",
        "invars",
        "nested",
        "outer_scopes",
        "parent_trace",
        "states",
        "tag",
    )

    def __init__(self, debug_info: DebugInfo, parent: Trace) -> None:
        self._invalid = False
        self.debug_info = debug_info
        self.parent_trace = parent
        self.tag = None
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.const_values: list[Any] = []
        self.effects: set[Effect] = set()
        self.states: dict[Atom, MutableQDD] = {}  # of mutable values of user-defined types
        # Results of jitted functions that close over values of this trace: see
        # `core.recording.closures`.
        self.nested: dict[Any, Any] = {}
        # The number of enclosing scopes to omit: code that runs the program is within them, too.
        self.outer_scopes = 0
        self._const_tracers: dict[int, DynamicJaxprTracer] = {}
        # Copies of arrays that may be written to while tracing continues.
        self._copies: dict[int, np.ndarray] = {}
        # Keeps alive the objects whose id() is a key above.
        self._keep_alive: list[Any] = []

    def __repr__(self) -> str:
        return "DynamicJaxprTrace"

    __str__ = __repr__

    def invalidate(self) -> None:
        # Tracers of constants refer to their trace: a cycle, which would keep constants alive after
        # the user has dropped them, until the garbage collector runs.
        self._invalid = True
        self.nested.clear()
        self._const_tracers.clear()
        self._copies.clear()

    # --- values in ------------------------------------------------------------------------------

    def new_arg(
        self, aval: AbstractValue, source_info: source_info.SourceInfo | None = None
    ) -> DynamicJaxprTracer:
        """Appends an argument to the jaxpr and returns its tracer.

        Args:
          aval: its type.
          source_info: its origin, for libraries that add arguments while a function is traced.
        """
        var = Var(aval)
        self.invars.append(var)
        if aval.has_qdd:
            return self._tracer_of(var, source_info)
        return DynamicJaxprTracer(self, aval, var, source_info)

    def _tracer_of(self, var: Var, origin: source_info.SourceInfo | None) -> DynamicJaxprTracer:
        """Returns the tracer of a variable; initializes its state if it is mutable."""
        aval = var.aval
        if type(aval) is AvalQDD:
            self.states[var] = MutableQDD(aval.qdd)
            aval = aval.aval
        return DynamicJaxprTracer(self, aval, var, origin)

    def state_of(self, x: Tracer) -> object:
        assert type(x) is DynamicJaxprTracer, x
        return self.states[x.atom].cur_val

    def new_const(self, x: Value) -> DynamicJaxprTracer:
        """Returns the tracer of a value from outside the trace."""
        tracer = self._const_tracers.get(id(x))
        if tracer is None or (id(x) in self._copies and _is_changed(x, self._copies[id(x)])):
            tracer = self._make_const(x)
            self._const_tracers[id(x)] = tracer
            self._keep_alive.append(x)
        return tracer

    def _make_const(self, x: Value) -> DynamicJaxprTracer:
        if isinstance(x, Tracer) and not x._trace.is_valid():
            raise escaped_tracer_error(x)
        if isinstance(x, Array):
            aval = x.aval
        else:
            aval = get_aval(x)
            literal = literal_value(x, aval)
            if literal is not None:
                if isinstance(x, np.ndarray):
                    self._note_copy(x, literal)
                return DynamicJaxprTracer(self, aval, Literal(literal, aval), None)
        if isinstance(x, np.ndarray):  # its owner may write to it during the life of the program
            copy = np.array(x, aval.dtype, order="C")
            self._note_copy(x, copy)
            x = copy
        convert = None if aval.is_high else getattr(x, "__jax_array__", None)
        if convert is not None and not isinstance(x, Tracer):
            return self.to_tracer(convert())  # possibly a tracer of this trace
        if type(x) in host_values:
            return self.to_tracer(host_values[type(x)](x))
        var = Var(with_state(aval, x) if aval.has_qdd else aval)
        self.constvars.append(var)
        self.const_values.append(x)
        if aval.has_qdd:
            return self._tracer_of(var, None)
        return DynamicJaxprTracer(self, aval, var, None)

    def _note_copy(self, x: np.ndarray, copy: np.ndarray) -> None:
        """Records the copy of an array, if the array or one that it is a view of is writeable."""
        array: Any = x
        while isinstance(array, np.ndarray):
            if array.flags.writeable:
                self._copies[id(x)] = copy
                return
            array = array.base

    def new_valueless(self, x: object, aval: AbstractValue) -> DynamicJaxprTracer:
        """Returns the tracer of `x`, which has a type but no value."""
        tracer = self._const_tracers.get(id(x))
        if tracer is None:
            var = Var(aval)
            self.constvars.append(var)
            self.const_values.append(x)
            tracer = self._const_tracers[id(x)] = DynamicJaxprTracer(self, aval, var, None)
        return tracer

    def to_tracer(self, x: Value) -> DynamicJaxprTracer:
        """Returns `x` as a tracer of this trace."""
        if type(x) is DynamicJaxprTracer and x._trace is self:
            return x
        return self.new_const(x)

    to_jaxpr_tracer = to_tracer
    pure = lift = full_raise = to_tracer

    # --- operations -------------------------------------------------------------------------------

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: Params) -> Any:
        if self._invalid:
            return self._bind_after_end(primitive, args, params)
        atoms: list[Atom] = []
        avals: list[AbstractValue] = []
        for x in args:
            if type(x) is not DynamicJaxprTracer or x._trace is not self:
                x = self.new_const(x)
            atoms.append(x.atom)
            avals.append(x.aval)
        features = interceptors.installed
        for feature in features:
            feature.check(primitive, avals)
        # `Primitive.typed`, inlined: hot path, runs once per operation.
        try:
            typed = primitive.abstract_memo.get((*map(id, avals), *params.items()))
        except TypeError:  # parameters that are not hashable
            typed = None
        try:
            if not typed:
                operand_avals = self._with_states(primitive, atoms, avals) if self.states else avals
                typed = primitive.typed(tuple(operand_avals), params)
            out, effects = typed[0]
        except UnequalAxes as unequal:
            return self._process_varied(primitive, args, avals, params, unequal.axes)
        if features:
            out = recorded_types(features, primitive, avals, params, out)
        if self.states:
            self._advance_states(primitive, atoms, params)
        origin = source_info.current()
        if self.outer_scopes:
            inner = NameStack(origin.name_stack[self.outer_scopes :])
            origin = origin.replace(name_stack=inner)
        usual = (  # hot path: the common case, without a call
            config.threefry_partitionable.global_value
            if config.local.values is None
            else config.threefry_partitionable_enabled()
        )
        context = _DEFAULT_CONTEXT if usual else _OTHER_CONTEXT
        for feature in features:
            context = feature.context(context)
        outvars = [Var(aval) for aval in out] if primitive.multiple_results else [Var(out)]
        self.eqns.append(JaxprEqn(atoms, outvars, primitive, params, effects, origin, context))
        if effects:
            self.effects |= effects
        if primitive.is_high_operation:
            tracers = [self._tracer_of(v, origin) for v in outvars]
            return tracers if primitive.multiple_results else tracers[0]
        if not primitive.multiple_results:
            return DynamicJaxprTracer(self, out, outvars[0], origin)
        return [DynamicJaxprTracer(self, v.aval, v, origin) for v in outvars]

    def _bind_after_end(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> object:
        """Binds an operation that reaches this trace after its end, under another trace if possible.

        Raises:
          RuntimeError: if this trace cannot be left.
        """
        if leave_ended_trace(self):
            return primitive.bind(*args, **params)
        raise RuntimeError(f"operation {primitive} reached a trace that has ended")

    def _with_states(
        self, primitive: Primitive, atoms: Sequence[Atom], avals: Sequence[AbstractValue]
    ) -> Sequence[Any]:
        """Returns operand types for a `HiPrimitive`'s type rule, which may set their states."""
        if not primitive.is_high_operation:
            return avals
        return [
            AvalMutableQDD(aval, self.states[x]) if type(x) is Var and x in self.states else aval
            for aval, x in zip(avals, atoms, strict=True)
        ]

    def _advance_states(self, primitive: Primitive, atoms: Sequence[Atom], params: Params) -> None:
        """Sets the states of mutable operands to those after a called program."""
        if primitive.called is not None:
            program: Any = params[primitive.called]
            for var, x in zip(program.invars, atoms, strict=True):
                if var in _last_states and type(x) is Var and x in self.states:
                    self.states[x].update(_last_states[var])

    default_process_primitive = process_primitive

    def _process_varied(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        avals: Sequence[AbstractValue],
        params: Params,
        axes: frozenset[Any],
    ) -> object:
        """Records an operation after casting its operands to vary along the same manual axes.

        Raises:
          ValueError: if `jax_auto_pcast` is off.
        """
        if not config.auto_pcast.value:
            raise ValueError(
                f"{primitive.name}: operands must vary along the same manual axes, but have the "
                f"types {', '.join([a.str_short() for a in avals])}; jax_auto_pcast is off, so "
                "cast them with jax.lax.pcast(..., to='varying')"
            ) from None
        return self.process_primitive(primitive, [self._varying(x, axes) for x in args], params)

    def _varying(self, x: Value, axes: frozenset[Any]) -> Value:
        """Returns `x`, cast to vary along all of `axes`."""
        aval = get_aval(x)
        missing = axes - aval.vma if isinstance(aval, ShapedArray) else None
        if not missing:
            return x
        reduced = missing & type_of(aval).reduced
        if reduced:
            x = self.process_primitive(reduced_vary_cast_p, [x], {"axes": in_order(reduced)})
        if missing == reduced:
            return x
        return self.process_primitive(pvary_p, [x], {"axes": in_order(missing - reduced)})

    # --- values out -------------------------------------------------------------------------------

    def to_jaxpr(
        self, outs: Sequence[DynamicJaxprTracer], debug_info: DebugInfo
    ) -> tuple[Jaxpr, list[Value]]:
        """Returns the jaxpr recorded so far, with results `outs`, and its constants' values."""
        outvars = [t.atom for t in outs]
        used = set(map(id, outvars))
        for eqn in self.eqns:
            used.update(map(id, eqn.invars))
        constvars: list[Var] = []
        consts: list[Any] = []
        for var, value in zip(self.constvars, self.const_values, strict=True):
            if id(var) in used:
                constvars.append(var)
                consts.append(value)
        for var, held in self.states.items():
            if isinstance(var, Var):
                _last_states[var] = held.cur_val
        jaxpr = Jaxpr(constvars, self.invars, outvars, self.eqns, set(self.effects), debug_info)
        return jaxpr, consts

    # --- messages ---------------------------------------------------------------------------------

    def origin_message(self, tracer: DynamicJaxprTracer) -> str:
        """Describes the traced function, and the arguments on which the tracer's value depends."""
        info = self.debug_info
        if self._invalid:
            return ""
        names = self._argument_names(tracer)
        where = (
            f"\nThe error occurred while tracing the function {info.func_src_info} for "
            f"{info.traced_for}."
        )
        if names:
            plural = "s" if len(names) > 1 else ""
            listed = " and ".join(", ".join(names).rsplit(", ", 1)) if len(names) > 1 else names[0]
            return (
                f"{where} This concrete value was not available in Python because it depends on "
                f"the value{plural} of the argument{plural} {listed}."
            )
        lines = self._operation_lines(tracer)
        if lines:
            return f"{where} It is computed by these operations:\n\n" + "\n".join(lines)
        return where

    def ref_origin(self, tracer: DynamicJaxprTracer) -> str:
        """Returns a paragraph on the origin of a reference."""
        names = self.debug_info.safe_arg_names(len(self.invars))
        for var, name in zip(self.invars, names, strict=True):
            if var is tracer.atom:
                return f"\n\nIt was passed in as the argument {name or '<unknown>'}."
        line = tracer.origin and source_info.summarize(tracer.origin)
        return f"\n\nIt was created on line {line}." if line else "\n\n"

    def _dependencies(self, var: Atom) -> list[JaxprEqn]:
        """Returns the equations on which `var` depends, last first."""
        needed = {id(var)}
        eqns: list[JaxprEqn] = []
        for eqn in reversed(self.eqns):
            if any(id(v) in needed for v in eqn.outvars):
                needed.update(id(a) for a in eqn.invars)
                eqns.append(eqn)
        return eqns

    def depends_on_arrays(self, tracer: DynamicJaxprTracer) -> bool:
        """Returns whether the tracer's value depends on an argument that is not a scalar."""
        avals: list[Any] = [v.aval for v, _ in self._arguments(tracer)]
        return any(getattr(aval, "ndim", 0) > 0 for aval in avals)

    def _argument_names(self, tracer: DynamicJaxprTracer) -> list[str]:
        return [name for _, name in self._arguments(tracer) if name]

    def _arguments(self, tracer: DynamicJaxprTracer) -> list[tuple[Var, str | None]]:
        """Returns the arguments on which the tracer's value depends, with their names."""
        atoms = {id(tracer.atom)}
        for eqn in self._dependencies(tracer.atom):
            atoms.update(id(a) for a in eqn.invars)
        names = self.debug_info.safe_arg_names(len(self.invars))
        return [(v, n) for v, n in zip(self.invars, names, strict=True) if id(v) in atoms]

    def _operation_lines(self, tracer: DynamicJaxprTracer) -> list[str]:
        return [
            f"  operation {eqn.primitive} from line {source_info.summarize(eqn.source_info)}"
            for eqn in reversed(self._dependencies(tracer.atom)[:5])
        ]


# Operand of mutable type of a program -> its state after the program.
_last_states: weakref.WeakKeyDictionary[Var, Any] = weakref.WeakKeyDictionary()


# An array that is used again is compared with its copy: completely if it has at most this many
# bytes, and otherwise in a sample of elements, which detects that the array was refilled. Either
# takes a few microseconds; recording an operation takes about fifteen. Comparing all of a large
# array would take half as long as copying it.
_COMPARED_BYTES, _COMPARED_ELEMENTS = threshold(1 << 14, small=16), threshold(64, small=16)


def _is_changed(x: Any, copy: np.ndarray) -> bool:
    """Returns whether `x` has been written to since it was copied to `copy`."""
    if x.shape != copy.shape:
        return True
    if copy.nbytes > _COMPARED_BYTES:
        step = copy.size // _COMPARED_ELEMENTS | 1  # odd, so as not to sample the same columns
        x, copy = x.flat[::step], copy.flat[::step]
    return np.asarray(x, copy.dtype).tobytes() != copy.tobytes()


def literal_value(x: Value, aval: AbstractValue) -> np.ndarray | None:
    """Returns the value of `x` for a literal; None if it cannot be one.

    Python and NumPy scalars become literals; arrays of the runtime, even scalar ones, do not.
    """
    if not isinstance(aval, ShapedArray) or aval.shape or dtypes.is_extended(aval.dtype):
        return None
    if isinstance(x, float | int | complex | np.generic):
        return _literal_array(x, aval.dtype)
    if isinstance(x, np.ndarray):
        return x.astype(aval.dtype)
    return None


def _literal_array(x: Value, dtype: np.dtype) -> np.ndarray:
    if type(x) is int:
        info = dtypes.iinfo(dtype)
        if not info.min <= x <= info.max:
            raise OverflowError(
                f"Python int {x} too large to convert to {dtype.name}: its range is "
                f"[{info.min}, {info.max}]"
            )
    return np.asarray(x).astype(dtype)


_DEFAULT_CONTEXT = JaxprEqnContext(threefry_partitionable=True)
_OTHER_CONTEXT = JaxprEqnContext(threefry_partitionable=False)


_IS_REF = attrgetter("aval.is_ref")


def trace_to_jaxpr(
    fun: Callable[..., Sequence[Any]], in_avals: Sequence[AbstractValue], debug_info: DebugInfo
) -> tuple[Jaxpr, list[AbstractValue], list[Value]]:
    """Traces `fun` to a jaxpr.

    Args:
      fun: a function of one tracer per aval, passed positionally, that returns a flat sequence of
        values.
      in_avals: the types of the arguments.
      debug_info: the origin of `fun`.

    Returns: (jaxpr, types of its results, values of its constants). Constants may be tracers of
      enclosing traces.
    """
    trace = JaxprTrace(debug_info, state.trace)
    try:
        args = [trace.new_arg(aval) for aval in in_avals]
        with set_current_trace(compile_time_eval.of_program(trace)), source_info.no_scopes():
            outs = fun(*args)
            out_tracers = [trace.to_tracer(x) for x in outs]
            if any(map(_IS_REF, out_tracers)):
                check_none_returned(out_tracers, debug_info, trace.ref_origin)
        del args
        jaxpr, consts = trace.to_jaxpr(out_tracers, trace.debug_info)
        out_avals = [t.aval for t in out_tracers]
        if config.check_tracer_leaks.value:
            del outs, out_tracers
            leaks.check(trace, {id(t) for t in trace._const_tracers.values()})
        return jaxpr, out_avals, consts
    finally:
        trace.invalidate()


__all__ = [
    "DynamicJaxprTracer",
    "JaxprTrace",
    "literal_value",
    "trace_to_jaxpr",
]


def retrace(
    name: str, fun: Callable[..., Any], avals: Sequence[AbstractValue], like: ClosedJaxpr
) -> ClosedJaxpr:
    """Returns a new closed jaxpr of `fun`, a function derived from the program `like`.

    Args:
      name: the purpose of the trace, for messages.
      fun: a function from flat values to flat values.
      avals: the types of its arguments.
      like: the program whose source messages refer to.
    """
    info = DebugInfo(name, like.jaxpr.debug_info.func_src_info)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts)
