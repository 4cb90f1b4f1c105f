"""Errors of the public API.

The classes are those of `jax.errors`. `docs/errors.md` has a section on each, with causes and
fixes, which `jitney explain CODE` prints for the `code` of an error.
"""

# Messages use the private `_origin_msg` of tracers, which users never call.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from jitney.core.messages import cures, messages, print_cures
from jitney.core.source import source_info, user_code

if TYPE_CHECKING:
    from jitney.core.source.user_code import UserCode
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array


def _documented(error: Exception, message: object) -> str:
    """Returns `message`, followed by a reference to the documentation of the class of `error`."""
    name, text = type(error).__name__, str(message)
    code = getattr(type(error), "code", "")
    page = f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}"
    see = f"\nSee `jitney explain {code}`, or {page}" if code else f"\nSee {page}"
    return text if text.endswith(see) else text + see  # the message of an unpickled error has it


class JAXTypeError(TypeError):
    """A TypeError whose message refers to its documentation."""

    def __init__(self, message: object) -> None:
        super().__init__(_documented(self, message))


class JAXIndexError(IndexError):
    """An IndexError whose message refers to its documentation."""

    def __init__(self, message: object) -> None:
        super().__init__(_documented(self, message))


class _Traced(Protocol):
    """The interface of tracers that messages use."""

    _trace: Any

    @property
    def aval(self) -> AbstractValue: ...
    def _origin_msg(self) -> str: ...


def describe(tracer: _Traced) -> str:
    """Returns a description of a tracer, such as "traced array with shape float32[3]"."""
    return f"traced array with shape {_type_of(tracer)}"


def _type_of(tracer: _Traced) -> str:
    """Returns a tracer's type as text, or its class if it is a library's tracer without a type."""
    aval: Any = tracer.aval
    return type(tracer).__name__ if aval is None else aval.str_short()


def _or_static(tracer: _Traced) -> str:
    """Returns the advice to make an argument static.

    Returns an empty string if the value depends on an array: only scalar arguments are worth making
    static.
    """
    inner: Any = tracer
    while inner is not None:
        ask = getattr(getattr(inner, "_trace", None), "depends_on_arrays", None)
        if ask is not None:
            return "" if ask(inner) else _STATIC
        # A tracer of a derivative or of a batch holds a tracer of the enclosing function.
        inner = getattr(inner, "primal", getattr(inner, "val", None))
    return ""


_STATIC = (
    "; or make the argument static, if it has few distinct values: jax.jit(f, static_argnames=...)"
)
_INDEX_DEFAULT = (
    "for an element of a list, convert the list to an array and index that; for range(n), use "
    "jax.lax.fori_loop"
)


class ConcretizationTypeError(JAXTypeError):
    """The value of a tracer was needed while its function was traced."""

    code = "value-of-tracer"

    def __init__(self, tracer: _Traced, context: str = "") -> None:
        details, instead, cure = context.partition("\nInstead: ")
        super().__init__(
            "Abstract tracer value encountered where concrete value is expected: "
            f"{describe(tracer)}\n{details}{tracer._origin_msg()}{instead}{cure}"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was used as a truth value: `if`, `while`, `and`, `bool(x)`."""

    code = "bool-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        code = user_code.current()
        truth = cures.of_truth(code, traced=True)
        JAXTypeError.__init__(
            self,
            f"Attempted boolean conversion of {describe(tracer)}.{tracer._origin_msg()}\n"
            f"{messages.located(truth.asked, 'bool(x)', code)} needs a value that is known only "
            f"when the compiled function runs.\nInstead: {truth.instead}{_or_static(tracer)}.",
        )


class TracerArrayConversionError(JAXTypeError):
    """NumPy requested the data of a tracer."""

    code = "numpy-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        code = user_code.current()
        update = cures.of_store(code)
        written = messages.statement(code) if update else ""
        ours = cures.of_foreign_call(code) or "the function with that name in jax.numpy"
        instead = update or f"{ours}; for functions that only NumPy has, use jax.pure_callback."
        super().__init__(
            f"{messages.located(written, 'np.asarray(x)', code)}: NumPy requested the values of a "
            f"{describe(tracer)}, by __array__(), which are known only when the compiled function "
            f"runs.{tracer._origin_msg()}\nInstead: {instead}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """A tracer was used as a Python index: `range(x)`, `list[x]`."""

    code = "index-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        code = user_code.current()
        super().__init__(
            f"{messages.located('', 'x.__index__()', code)}: Python requested a "
            f"{describe(tracer)} as an integer, by __index__(), whose value is known only when "
            f"the compiled function runs.{tracer._origin_msg()}\nInstead: "
            f"{_INDEX_DEFAULT}{_or_static(tracer)}."
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed by a mask whose values are not known during tracing."""

    code = "mask-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        asked = messages.located("", "x[mask]", user_code.current())
        if hasattr(tracer, "_origin_msg"):
            why = (
                f"the number of selected elements depends on a boolean mask, a {describe(tracer)}, "
                f"whose values are known only when the compiled function runs.{tracer._origin_msg()}"
            )
        else:  # references reject all masks, even concrete ones
            why = "a reference cannot be indexed by a boolean mask."
        super().__init__(
            f"{asked}: {why}\nInstead: jnp.where(mask, x, y), which keeps the shape, and "
            "jnp.where(mask, y, x) for the update x.at[mask].set(y); for at most n elements, "
            "x[jnp.nonzero(mask, size=n)]."
        )


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its function had been traced."""

    code = "leaked-tracer"


class KeyReuseError(JAXTypeError):
    """A PRNG key was used twice."""

    code = "key-reuse"


class InconclusiveDimensionOperation(Exception):  # the name is JAX's
    """An operation on symbolic sizes has no definite result."""


class JaxRuntimeError(RuntimeError):
    """An error occurred while a compiled program ran."""


# --- what tracers call ----------------------------------------------------------------------------


def scalar_conversion_error(tracer: _Traced, kind: str) -> Exception:
    """Returns the error for int(x), float(x), complex(x), and callers such as `math.exp(x)`."""
    code = user_code.current()
    update = cures.of_store(code)
    written = messages.statement(code) if update else ""
    ours = update or cures.of_foreign_call(code)
    return _number_error(tracer, written, f"{kind}(x)", code, ours and f"{ours}.", kind)


def item_error(tracer: _Traced) -> Exception:
    """Returns the error for x.item()."""
    return _number_error(tracer, "", "x.item()", user_code.current(), "")


def _number_error(
    tracer: _Traced, written: str, fallback: str, code: UserCode | None, instead: str, wanted: str = ""
) -> Exception:  # fmt: skip
    """Returns the error for the conversion of a tracer to a Python number.

    Args:
      tracer: the tracer.
      written: the user's code, if it is not the expression being evaluated.
      fallback: a description of the operation, if the source is not available.
      code: the expression being evaluated.
      instead: the suggested replacement; empty if it is to be found here.
      wanted: the Python type to convert to; empty for the type of the elements.
    """
    printed = "" if instead else print_cures.of_printed(code)
    if printed:
        instead = f"{printed}, which prints when the function runs."
    return ConcretizationTypeError(
        tracer,
        f"{messages.located(written, fallback, code)} converts the value to a Python number, but "
        "the value is known only when the compiled function runs.\nInstead: "
        f"{instead or cures.of_number(code, _kind_of(tracer), wanted)}",
    )


def _kind_of(tracer: _Traced) -> str:
    """Returns the Python type of a tracer's elements: "int", "float", "complex", or else ""."""
    kind = getattr(getattr(tracer.aval, "dtype", None), "kind", "")
    return {"i": "int", "u": "int", "f": "float", "c": "complex"}.get(kind, "")


def format_error(tracer: _Traced) -> TypeError:
    """Returns the error for f"{x:.3f}"."""
    code = user_code.current()
    text, instead = print_cures.of_format(code)
    return TypeError(
        f"{messages.located(text, 'format(x, spec)', code)}: the value of a {_type_of(tracer)} "
        "cannot be formatted while its function is traced, only its type, "
        f"{type(tracer).__name__}.\nInstead: {instead}, which prints when the function "
        f"runs.{messages.see('format-of-tracer')}"
    )


def deleted_array_error(
    aval: AbstractValue, given_to: tuple[str, CodeType, int] | None
) -> RuntimeError:
    """Returns the error for an array that was deleted or donated.

    Args:
      aval: the type of the array.
      given_to: the name of the function to which it was donated, the code object of the caller, and
        the offset of the calling instruction; None for arrays that were deleted otherwise.
    """
    code = user_code.current()
    name = messages.variable_of(aval, code) or "the array"
    subject = messages.at_expression(f"{name}, {aval.str_short()}, has been", code)
    if given_to is None:
        return RuntimeError(
            f"{subject} deleted by its method `delete`.\nInstead: delete it later"
            f"{messages.see('donated-array')}"
        )
    function, caller, lasti = given_to
    place = _line_of(caller, lasti)
    return RuntimeError(
        f"{subject} deleted: its buffer was donated to {function} at {place} (donate_argnums).\n"
        f"Instead: use the result of {function}, or do not donate the "
        f"argument.{messages.see('donated-array')}"
    )


def interrupted_call_error(
    kind: type[BaseException], place: tuple[str, CodeType, int] | None
) -> JaxRuntimeError:
    """Returns the error for reading a result whose computation was interrupted, as by Ctrl-C.

    Args:
      kind: the type of the exception that ended the computation.
      place: the name of the called function, the code object of the caller, and the offset of the
        calling instruction; None if unknown.
    """
    of_call = "" if place is None else f" by {place[0]} at {_line_of(place[1], place[2])}"
    return JaxRuntimeError(
        f"the computation of this array{of_call} was interrupted by {kind.__name__}, so the array "
        "has no value.\nInstead: call the function again"
    )


def _line_of(code: CodeType, lasti: int) -> str:
    """Returns the file and line of an instruction, such as "program.py:3"."""
    return f"{os.path.basename(code.co_filename)}:{source_info.span(code, lasti)[0]}"


def check_truth_is_unambiguous(aval: AbstractValue) -> None:
    """Raises ValueError for arrays that do not have exactly one element."""
    if aval.size == 0:
        raise ValueError(
            f"bool(x) needs an array of one element, but x is {aval.str_short()}, which is empty; "
            "use `x.size > 0` to test whether there are elements"
        )
    if aval.size > 1:
        code = user_code.current()
        truth = cures.of_truth(code, traced=False)
        raise ValueError(
            f"{messages.located(truth.asked, 'bool(x)', code)}: the truth value of "
            f"{aval.str_short()} is ambiguous, as each element has one.\nInstead: "
            f"{truth.instead}{messages.see('ambiguous-truth')}"
        )


def check_scalar_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not scalars."""
    if x.ndim > 0:
        raise TypeError(
            "a conversion to a Python number needs an array of rank 0, but x has shape "
            f"{x.shape} and rank {x.ndim}; select an element, or call x.item() if there is only one"
        )


def check_integer_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not integer scalars."""
    if not (x.shape == () and x.dtype.kind in "iu"):
        raise TypeError(
            "an array that is used as a Python index must be an integer scalar, but this one has dtype "
            f"{x.dtype.name} and shape {x.shape}"
        )


def escaped_tracer_message(tracer: _Traced, detail: str = "") -> str:
    """Returns the message for a tracer that is used outside of its trace."""
    kind = type(tracer).__name__
    message = (
        f"A tracer leaked: a value of type {tracer.aval.str_short()}, a {kind}, is used although "
        "the traced function that created it has returned. The tracer has no elements.\nReturn "
        "the values that are needed later from the function. Its local variables are released "
        "when it returns, but globals, attributes of objects, and outer lists and caches keep the "
        "tracers stored in them."
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
        + "\n`with jax.checking_leaks():` (or JAX_CHECK_TRACER_LEAKS=1) reports leaked tracers, "
        "and the objects that refer to them, at the end of the trace."
    )
