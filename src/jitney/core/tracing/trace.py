"""Tracing: how `bind` determines what to do with an operation.

There is one current trace per thread. `Primitive.bind` passes the operation to it:

- the evaluating trace (`jitney.runtime.execution.eager`) computes the results immediately;
- a staging trace (`jitney.core.recording.jaxpr_trace`) records an equation;
- the trace of a transformation transforms the operation and passes the resulting operations to its
  parent trace.

A transformation makes its trace current while it runs the user's function, so the innermost
transformation processes an operation first, whether or not the operands are its tracers.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, overload

from jitney.core.array import Array
from jitney.core.contexts import Within
from jitney.core.diagnostics import errors
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.sharding.manual_axes import ManualAxisType
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.memory_space import MemorySpace
    from jitney.core.typing import Value

T = TypeVar("T")


class CustomCall(Protocol):
    """A call of a function with a custom derivative rule, on flat values.

    Attributes:
      num_nondiff: the number of leading values that are not differentiated.
    """

    num_nondiff: int

    def rebind(self, leaves: Sequence[Any]) -> Sequence[Value]:
        """Makes the same call on other values under the current trace; returns the results."""
        ...

    def inline(self, leaves: Sequence[Any]) -> Sequence[Value]:
        """Runs the function's operations under the current trace; returns the results."""
        ...

    def differentiate(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Returns (results, tangents) by the custom rule, under the current trace."""
        ...

    def as_equation(self, leaves: Sequence[Any]) -> Sequence[Value]:
        """Binds one operation that carries the rule, under the current trace; returns its results."""
        ...


class Trace:
    """An interpreter of operations, which receives them while it is the current trace.

    Attributes:
      is_staging: whether operations are recorded in a program.
      is_batching: whether values may have a batch dimension that their types do not show.
      names_sources: whether it uses the locations of operations in the user's program.
    """

    __slots__ = ("__weakref__", "_invalid")

    is_staging = False
    is_batching = False
    names_sources = True

    if TYPE_CHECKING:
        tag: Any  # of the transformation, in traces that have one

    def __init__(self) -> None:
        self._invalid = False

    def process_primitive(
        self, primitive: Any, args: Sequence[Value], params: dict[str, Any]
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.process_primitive")

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Processes a call with a custom forward-mode rule; returns the flat results."""
        return call.as_equation(leaves)

    def process_custom_vjp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Processes a call with a custom reverse-mode rule; returns the flat results."""
        return call.as_equation(leaves)

    def state_of(self, x: Tracer) -> object:
        """Returns the state of a mutable value of a high-level type: `core.tracing.hi_types`."""
        raise TypeError(
            f"the state of a mutable value of type {x.aval} cannot be read here ({self}): close over "
            "the value instead of passing it as an argument of the transformed function"
        )

    def aside(self, x: Tracer) -> Value:
        """Returns the untransformed value of `x`, an auxiliary result of a transformed function."""
        return x

    def invalidate(self) -> None:
        """Marks the end of the trace, after which its tracers must not be used."""
        self._invalid = True

    def is_valid(self) -> bool:
        return not self._invalid

    @property
    def main(self) -> object:
        """The identity of the transformation that this trace serves (its tag)."""
        return getattr(self, "tag", self)

    @property
    def requires_low(self) -> bool:
        return True

    def pure(self, x: Value) -> Value:
        return x

    lift = pure

    def stage_value(self, val: Value) -> Value:
        """Returns `val`, as a constant of the program being recorded if there is one."""
        parent = getattr(self, "parent_trace", None)
        return self.pure(val) if parent is None else parent.stage_value(val)

    def full_raise(self, x: Value) -> Value:
        return x

    def __repr__(self) -> str:
        return type(self).__name__

    __str__ = __repr__


class TraceTag:
    """The identity of one use of a transformation, shared by the traces that serve it."""

    __slots__ = ("__weakref__",)


class Tracer(Array):
    """A stand-in for a value while a function is traced.

    Attributes:
      _trace: the trace to which it belongs.
      aval: the abstract value.
    """

    __module__ = "jax._src.core"  # libraries derive an array's package from it
    __slots__ = ("__weakref__", "_aval", "_trace")

    _trace: Trace
    _aval: AbstractValue  # in user-defined classes, which need not define `aval` themselves

    def __init__(self, trace: Trace, *aval: AbstractValue) -> None:
        self._trace = trace
        if aval:
            (self._aval,) = aval

    # --- what is known --------------------------------------------------------------------------

    @property
    def aval(self) -> AbstractValue:  # type: ignore[override]  # tokens and references have tracers, too
        try:
            return self._aval
        except AttributeError:
            raise NotImplementedError(f"{type(self).__name__}.aval") from None

    @property
    def sharding(self) -> Sharding:
        raise AttributeError(
            f"{type(self).__name__} has no sharding, because its value is not known yet; "
            f"jax.typeof(x).sharding is the sharding of its type.{self._origin_msg()}"
        )

    @property
    def mat(self) -> ManualAxisType:
        """How values differ between devices along the manual axes of a `shard_map`."""
        aval: Any = self.aval
        return aval.manual_axis_type

    @property
    def committed(self) -> bool:
        return False

    @property
    def memory_space(self) -> MemorySpace:
        raise ValueError(
            f"{type(self).__name__} has no memory space, because its value is not known yet; "
            f"jax.typeof(x).memory_space is the memory space of its type.{self._origin_msg()}"
        )

    dimension_as_value: Any = None  # of user-defined types of sizes

    def __without_data__(self, name: str) -> Exception:
        if name == "device":
            return AttributeError(
                f"{type(self).__name__} has no device, because its value is not known yet; "
                f"jax.typeof(x).sharding is the sharding of its type.{self._origin_msg()}",
                name=name,
                obj=self,
            )
        return errors.ConcretizationTypeError(self, f"`x.{name}` requires a concrete array.")

    def get_state(self) -> object:
        """Returns the state of a mutable value of a high-level type: `core.tracing.hi_types`."""
        return self._trace.state_of(self)

    # --- what needs the value -------------------------------------------------------------------

    def to_concrete_value(self) -> Value | None:
        """Returns the value as an array if it is known, else None."""
        return None

    def get_referent(self) -> Tracer:
        return self

    def full_lower(self) -> Value:
        return self

    def is_concrete(self) -> bool:
        return self.to_concrete_value() is not None

    def _origin_msg(self) -> str:
        """Returns the tracer's origin: a sentence that starts on a new line, or an empty text."""
        return ""

    def _known(self, error: Callable[..., Exception], *context: str) -> Any:
        value = self.to_concrete_value()
        if value is None:
            raise error(self, *context)
        return value

    def __bool__(self) -> bool:
        if isinstance(self.aval, ShapedArray) and self.aval.shape != ():
            errors.check_truth_is_unambiguous(self.aval)
        return bool(self._known(errors.TracerBoolConversionError))

    def __int__(self) -> int:
        errors.check_scalar_conversion(self)
        return int(self._known(errors.scalar_conversion_error, "int"))

    def __float__(self) -> float:
        errors.check_scalar_conversion(self)
        # Not even if the value is known, as the derivative would be lost silently.
        raise errors.scalar_conversion_error(self, "float")

    def __complex__(self) -> complex:
        errors.check_scalar_conversion(self)
        raise errors.scalar_conversion_error(self, "complex")

    def __index__(self) -> int:
        errors.check_integer_conversion(self)
        return self._known(errors.TracerIntegerConversionError).__index__()

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise errors.TracerArrayConversionError(self)  # as for floats

    def item(self, *args: int) -> bool | int | float | complex:
        value = self._known(errors.item_error)
        return value.item(*args) if hasattr(value, "item") else value

    def _needs_value(self, method: str) -> Exception:
        return errors.ConcretizationTypeError(self, f"`x.{method}()` requires a concrete array.")

    def tolist(self) -> NoReturn:
        raise self._needs_value("tolist")

    def tobytes(self, order: str = "C") -> bytes:
        raise self._needs_value("tobytes")

    def addressable_data(self, index: int) -> NoReturn:
        raise self._needs_value("addressable_data")

    def delete(self) -> None:
        raise self._needs_value("delete")

    def is_deleted(self) -> bool:
        raise self._needs_value("is_deleted")

    def devices(self) -> NoReturn:
        raise self._needs_value("devices")

    def on_device_size_in_bytes(self) -> int:
        raise self._needs_value("on_device_size_in_bytes")

    def unsafe_buffer_pointer(self) -> int:
        raise self._needs_value("unsafe_buffer_pointer")

    def block_until_ready(self) -> Tracer:
        # There is nothing to wait for, but libraries call this on any value.
        return self

    def copy_to_host_async(self) -> None:
        """Does nothing, as there is no data to copy."""

    def __len__(self) -> int:
        return len(self.aval)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: '{type(self).__name__}'")

    # `==` is installed with the other operators; without this, Python would clear __hash__ then.

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        return self

    def __format__(self, spec: str) -> str:
        if spec:
            raise errors.format_error(self)
        return str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def __str__(self) -> str:
        return self.__repr__()


class _State(threading.local):
    """The trace state of a thread: its current trace and named axes.

    Attributes:
      trace: the current trace.
      axis_env: the named axes in scope, innermost last: (name, size) pairs.
      folds: whether operations on concrete values are evaluated in functions that are traced: see
        `compile_time_eval`.
      checked_axes: the axes of a `shard_map` that checks along which axes values vary
        (`check_vma`).
    """

    # Class attributes are the defaults of all threads; `install_eval_trace` sets them.
    trace: Any = None
    eval_trace: Any = None
    axis_env: tuple[tuple[Any, int], ...] = ()
    folds: bool = False
    checked_axes: frozenset[Any] = frozenset()


state = _State()
_TRACE, _AXES = ("trace",), ("axis_env", "checked_axes")


_interceptors: list[type[Trace]] = []


def install_eval_trace(trace: Trace) -> None:
    """Makes `trace` the current trace where no transformation is active; called once."""
    _State.trace = trace
    _State.eval_trace = trace


def intercept_evaluation(interceptor: type[Trace]) -> None:
    """Makes `interceptor` process operations before they are evaluated, in all threads.

    A feature installs an interceptor when it is first used, so it costs nothing until then. An
    interceptor is a subclass of the evaluating trace that passes operations on by
    `super().process_primitive`. As threads hold the trace, it stays the same object, and its class
    is replaced by one that inherits from all interceptors. The order of interceptors does not
    matter.
    """
    if interceptor not in _interceptors:
        _interceptors.append(interceptor)
    trace: Trace = _State.eval_trace
    # A loop, not a lock: threads may install interceptors concurrently, and a signal may interrupt.
    while not all([isinstance(trace, each) for each in _interceptors]):
        kind = type(trace)
        members = {"__slots__": (), "__module__": kind.__module__}
        trace.__class__ = type(kind.__name__, tuple(_interceptors), members)


def is_recorded() -> bool:
    """Returns whether operations under the current trace are recorded in a program."""
    trace = state.trace
    while trace is not None and not trace.is_staging:
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


def set_current_trace(trace: Trace | None) -> Within:
    """Returns a context in which `trace` is the current trace."""
    return Within(state, _TRACE, (trace,))


def leave_ended_trace(trace: Trace) -> bool:
    """Makes the evaluating trace current if the current one is `trace`, which has ended.

    Returns whether it was current. This happens if a user's generator has entered a context, and
    the generator is collected after an interrupt: the context then exits later than the enclosing
    traces, and makes one of them current.
    """
    if state.trace is not trace:
        return False
    state.trace = state.eval_trace
    state.axis_env, state.checked_axes = (), frozenset()
    return True


def take_current_trace() -> Within[Trace]:
    """Returns a context that yields the current trace, and in which operations are evaluated."""
    return Within(state, _TRACE, (state.eval_trace,), state.trace)


def eval_context() -> Within:
    """Returns a context in which operations are evaluated immediately, even during tracing.

    Operands must not be tracers; `ensure_compile_time_eval` permits them.
    """
    return Within(state, _TRACE, (state.eval_trace,))


def extend_axis_env(*axes: tuple[Any, int], checked: frozenset[Any] = frozenset()) -> Within:
    """Returns a context in which the axes given as (name, size) are in scope.

    Args:
      *axes: the named axes, innermost last.
      checked: those axes for which types record whether values vary along them.
    """
    checked_axes = state.checked_axes
    if axes:
        checked_axes = (checked_axes - frozenset([name for name, _ in axes])) | checked
    return Within(state, _AXES, (state.axis_env + axes, checked_axes))


def trace_state_clean() -> bool:
    """Returns whether no transformation is active in this thread."""
    return state.trace is state.eval_trace and not state.axis_env


def find_top_trace(*values: Value) -> Trace:
    """Returns the trace that would process an operation on `values`."""
    return state.trace


class OpaqueTraceState:
    """A snapshot of the trace state; two snapshots are equal if the state is unchanged."""

    __slots__ = ("_axes", "_trace")

    def __init__(self) -> None:
        # The only reference to the trace, which may outlive it; an id could be reused by a later
        # trace.
        self._trace = weakref.ref(state.trace)
        self._axes = state.axis_env

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OpaqueTraceState)
            and self._trace is other._trace
            and self._axes == other._axes
        )

    def __hash__(self) -> int:
        return hash((id(self._trace), self._axes))


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Returns an object that equals later results as long as the same traces are active."""
    return OpaqueTraceState()


def is_concrete(x: object) -> bool:
    """Returns whether the value of `x` is known."""
    return not isinstance(x, Tracer) or x.is_concrete()


def concrete_value(x: object) -> Any:
    """Returns the value of `x`, or None if `x` is a tracer whose value is not known."""
    return x.to_concrete_value() if isinstance(x, Tracer) else x


def revealed(x: T) -> T | Array:
    """Returns the result of `x.__jax_array__()` if `x` has this method, else `x`."""
    kind = type(x)
    if kind in plain_types:
        return x
    if issubclass(kind, Tracer) or not (
        hasattr(kind, "__jax_array__") or hasattr(kind, "__getattr__")
    ):
        plain_types.add(kind)
        return x
    convert = getattr(x, "__jax_array__", None)  # instances may provide it by `__getattr__`
    return x if convert is None else convert()


# Known types of operands without `__jax_array__`. Inspecting the class each time would take longer.
plain_types: set[type] = set()


@overload
def concrete_or_error(force: None, x: T, context: str = "") -> T: ...
@overload
def concrete_or_error(force: Callable[[Any], T], x: object, context: str = "") -> T: ...
def concrete_or_error(
    force: Callable[[Any], object] | None, x: object, context: str = ""
) -> object:
    """Returns `force(x)`; the value of `x` must be known.

    Args:
      force: a conversion such as `int`, or None to leave the value unchanged.
      x: a value or a tracer.
      context: a sentence for the error message that says what needs the value.

    Raises:
      ConcretizationTypeError: if `x` is a tracer whose value is not known.
    """
    force = force or (lambda value: value)
    if isinstance(x, Tracer):
        value = x.to_concrete_value()
        if value is None:
            raise errors.ConcretizationTypeError(x, context)
        return force(value)
    return force(x)


def escaped_tracer_error(tracer: Tracer, detail: str = "") -> Exception:
    """Returns the error for a tracer that is used outside of its trace."""
    return errors.UnexpectedTracerError(errors.escaped_tracer_message(tracer, detail))


__all__ = [
    "OpaqueTraceState",
    "Trace",
    "TraceTag",
    "Tracer",
    "concrete_or_error",
    "concrete_value",
    "escaped_tracer_error",
    "eval_context",
    "extend_axis_env",
    "find_top_trace",
    "get_aval",
    "get_opaque_trace_state",
    "install_eval_trace",
    "intercept_evaluation",
    "is_concrete",
    "is_recorded",
    "set_current_trace",
    "state",
    "take_current_trace",
    "trace_state_clean",
]
