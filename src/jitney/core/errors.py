"""Errors of the public API, and keeping this package's frames out of users' tracebacks.

The classes are those of `jax.errors`; `docs/errors.md` has a section on each, with causes and cures.
"""

# What a message says of a tracer is the tracer's own `_origin_msg`, which users never call.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from jitney.core import config, source_info

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.typing import Array, PyTree

F = TypeVar("F", bound=Callable[..., Any])


def _documented(error: Exception, message: object) -> str:
    """`message` and where the class of `error` is described."""
    name, text = type(error).__name__, str(message)
    see = (
        f"\nSee docs/errors.md, section {name}, or "
        f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}"
    )
    return text if text.endswith(see) else text + see  # (that of one that was pickled does)


class JAXTypeError(TypeError):
    """An operand is of the wrong kind."""

    def __init__(self, message: object) -> None:
        super().__init__(_documented(self, message))


class JAXIndexError(IndexError):
    """An index is of the wrong kind."""

    def __init__(self, message: object) -> None:
        super().__init__(_documented(self, message))


class _Traced(Protocol):
    """What messages ask of a tracer."""

    _trace: Any

    @property
    def aval(self) -> AbstractValue: ...
    def _origin_msg(self) -> str: ...


def describe(tracer: _Traced) -> str:
    """ "traced array with shape float32[3]"."""
    return f"traced array with shape {_type_of(tracer)}"


def _type_of(tracer: _Traced) -> str:
    """The type of a tracer; of those that have none, as libraries make them, the class."""
    aval: Any = tracer.aval
    return type(tracer).__name__ if aval is None else aval.str_short()


class ConcretizationTypeError(JAXTypeError):
    """The value of a tracer was needed while its function was traced."""

    def __init__(self, tracer: _Traced, context: str = "") -> None:
        super().__init__(
            "Abstract tracer value encountered where concrete value is expected: "
            f"{describe(tracer)}\n{context}{tracer._origin_msg()}\n"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """Python asked whether a tracer is true: `if`, `while`, `and`, `bool(x)`."""

    def __init__(self, tracer: _Traced) -> None:
        JAXTypeError.__init__(
            self,
            f"Attempted boolean conversion of {describe(tracer)}.{tracer._origin_msg()}",
        )


class TracerArrayConversionError(JAXTypeError):
    """NumPy asked for the data of a tracer."""

    def __init__(self, tracer: _Traced) -> None:
        super().__init__(
            "The numpy.ndarray conversion method __array__() was called on "
            f"{describe(tracer)}{tracer._origin_msg()}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """Python asked for a tracer as an index: `range(x)`, `list[x]`."""

    def __init__(self, tracer: _Traced) -> None:
        super().__init__(
            f"The __index__() method was called on {describe(tracer)}{tracer._origin_msg()}"
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed by a mask whose values are not known while tracing."""

    def __init__(self, tracer: _Traced) -> None:
        super().__init__(f"Array boolean indices must be concrete; got {_type_of(tracer)}\n")


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its function had been traced."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class InconclusiveDimensionOperation(Exception):  # the API's name
    """The result of an operation on symbolic extents is not determined."""


class JaxRuntimeError(RuntimeError):
    """An error while a compiled program ran."""


# --- what tracers call ----------------------------------------------------------------------------


def scalar_conversion_error(tracer: _Traced, kind: str) -> Exception:
    """For int(x), float(x), complex(x)."""
    return ConcretizationTypeError(
        tracer,
        f"`{kind}(x)` makes a Python number, which needs the value. To change the dtype alone, try "
        f"using `x.astype({kind})` or `jnp.array(x, {kind})`.",
    )


def check_truth_is_unambiguous(aval: AbstractValue) -> None:
    """Raises ValueError for arrays that are not one element."""
    if aval.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
            "array is not empty."
        )
    if aval.size > 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()"
        )


def check_scalar_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not scalars."""
    if x.ndim > 0:
        raise TypeError(
            f"Only scalar arrays can be converted to Python scalars; got arr.ndim={x.ndim}"
        )


def check_integer_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not integer scalars."""
    if not (x.shape == () and x.dtype.kind in "iu"):
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")


def escaped_tracer_message(tracer: _Traced, detail: str = "") -> str:
    """What to tell of a tracer met where its trace is not under way."""
    kind = type(tracer).__name__
    message = (
        "Encountered an unexpected tracer. A traced function kept an intermediate value of type "
        f"{tracer.aval.str_short()}, a {kind}, which is used now that the function has returned."
        "\nWhat is needed later has to be among the function's results; variables outside of it, which "
        "are global state, cannot hold it."
    )
    info = getattr(tracer._trace, "debug_info", None)
    if info is not None:
        message += f"\nThe function was {info.func_src_info}, traced for {info.traced_for}."
    origin = source_info.summarize(getattr(tracer, "origin", None))
    if origin:
        message += f"\nThe value was created on line {origin}."
    if detail:
        message += f"\nDetail: {detail}"
    return (
        message
        + "\n`with jax.checking_leaks():` (or JAX_CHECK_TRACER_LEAKS=1) reports such values at "
        "the end of the trace, and what refers to them."
    )


# --- tracebacks -----------------------------------------------------------------------------------


def filtered_traceback(tb: TracebackType | None) -> TracebackType | None:
    """`tb` without the frames of this package; with all of them if no other is there."""
    frames: list[TracebackType] = []
    current = tb
    while current is not None:
        if not source_info.is_internal(current.tb_frame.f_code):
            frames.append(current)
        current = current.tb_next
    out: TracebackType | None = None
    for frame in reversed(frames):
        out = TracebackType(out, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return out


_FILTERED = (
    "For simplicity, this traceback shows no frames of jitney itself; with "
    "JAX_TRACEBACK_FILTERING=off it does."
)


def _note_filtering(error: Exception) -> None:
    """Says once, behind the error's message, that there were more frames."""
    if _FILTERED not in getattr(error, "__notes__", ()):
        error.add_note(_FILTERED)


def api_boundary(fun: F) -> F:
    """For functions that users call: errors that leave them show the user's frames only."""

    @functools.wraps(fun)
    def reraise_with_filtered_traceback(*args: PyTree, **kwargs: PyTree) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if config.traceback_filtering.value == "off":
                raise
            # A bare `raise` adds no entry for this frame.
            error.__traceback__ = filtered_traceback(error.__traceback__)
            if config.traceback_filtering.value == "quiet_remove_frames":
                _note_filtering(error)
            raise

    return cast("F", reraise_with_filtered_traceback)
