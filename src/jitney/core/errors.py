"""Errors of the public API.

The classes are those of `jax.errors`; `docs/errors.md` has a section on each, with causes and cures,
which `jitney explain` prints by its `code`.
"""

# What a message says of a tracer is the tracer's own `_origin_msg`, which users never call.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from jitney.core import cures, messages, print_cures, source_info, user_code

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.typing import Array
    from jitney.core.user_code import UserCode


def _documented(error: Exception, message: object) -> str:
    """`message` and where the class of `error` is described."""
    name, text = type(error).__name__, str(message)
    code = getattr(type(error), "code", "")
    page = f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}"
    see = f"\nSee `jitney explain {code}`, or {page}" if code else f"\nSee {page}"
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
    """Returns the type of a tracer; of those that have none, as libraries make them, the class."""
    aval: Any = tracer.aval
    return type(tracer).__name__ if aval is None else aval.str_short()


def _or_static(tracer: _Traced) -> str:
    """What else may be done about a value that is needed: nothing where it comes of an array."""
    inner: Any = tracer
    while inner is not None:
        ask = getattr(getattr(inner, "_trace", None), "depends_on_arrays", None)
        if ask is not None:
            return "" if ask(inner) else _STATIC
        # That of a derivative, or of a mapped value, is the tracer of the function around it.
        inner = getattr(inner, "primal", getattr(inner, "val", None))
    return ""


_STATIC = "; or make the argument static, if it takes few values: jax.jit(f, static_argnames=...)"
_INDEX_DEFAULT = (
    "for an element of a list, make an array of the list and index that; for range(n), loop by "
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
    """Python asked whether a tracer is true: `if`, `while`, `and`, `bool(x)`."""

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
    """NumPy asked for the data of a tracer."""

    code = "numpy-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        code = user_code.current()
        update = cures.of_store(code)
        written = messages.statement(code) if update else ""
        ours = cures.of_foreign_call(code) or "the function of that name in jax.numpy"
        instead = update or f"{ours}; for what NumPy alone can do, jax.pure_callback."
        super().__init__(
            f"{messages.located(written, 'np.asarray(x)', code)}: NumPy asked for the values of a "
            f"{describe(tracer)}, by __array__(), which are known only when the compiled function "
            f"runs.{tracer._origin_msg()}\nInstead: {instead}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """Python asked for a tracer as an index: `range(x)`, `list[x]`."""

    code = "index-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        code = user_code.current()
        super().__init__(
            f"{messages.located('', 'x.__index__()', code)}: Python asked for a {describe(tracer)} "
            "as an integer, by __index__(), whose value is known only when the compiled function "
            f"runs.{tracer._origin_msg()}\nInstead: {_INDEX_DEFAULT}{_or_static(tracer)}."
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """An array was indexed by a mask whose values are not known while tracing."""

    code = "mask-of-tracer"

    def __init__(self, tracer: _Traced) -> None:
        # References refuse all masks, those of known values as well.
        is_traced = hasattr(tracer, "_origin_msg")
        got = (
            f"a {describe(tracer)}." + tracer._origin_msg() if is_traced else "one for a reference."
        )
        super().__init__(
            "x[mask] needs a boolean mask whose values are known, as they decide the shape of the "
            f"result, but got {got}\nTo keep the shape, choose by `jnp.where(mask, x, y)` or set "
            "by `x.at[mask].set(y)`; for at most n elements, take "
            "`x[jnp.nonzero(mask, size=n)]`."
        )


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its function had been traced."""

    code = "leaked-tracer"


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""

    code = "key-reuse"


class InconclusiveDimensionOperation(Exception):  # the API's name
    """The result of an operation on symbolic sizes is not determined."""


class JaxRuntimeError(RuntimeError):
    """An error while a compiled program ran."""


# --- what tracers call ----------------------------------------------------------------------------


def scalar_conversion_error(tracer: _Traced, kind: str) -> Exception:
    """For int(x), float(x), complex(x), and what calls them: `math.exp(x)`."""
    code = user_code.current()
    update = cures.of_store(code)
    written = messages.statement(code) if update else ""
    ours = update or cures.of_foreign_call(code)
    return _number_error(tracer, written, f"{kind}(x)", code, ours and f"{ours}.", kind)


def item_error(tracer: _Traced) -> Exception:
    """For x.item()."""
    return _number_error(tracer, "", "x.item()", user_code.current(), "")


def _number_error(
    tracer: _Traced, written: str, fallback: str, code: UserCode | None, instead: str, wanted: str = ""
) -> Exception:  # fmt: skip
    """For what makes a Python number.

    Args:
      tracer: of which.
      written: what the user wrote, if it is not the expression where the program stands.
      fallback: what is asked for, if there is no source.
      code: where the program stands.
      instead: what to write, if that is known already.
      wanted: the type of the number; empty for that of the elements.
    """
    printed = "" if instead else print_cures.of_printed(code)
    if printed:
        instead = f"{printed}, which prints when the function runs."
    return ConcretizationTypeError(
        tracer,
        f"{messages.located(written, fallback, code)} makes a Python number, which needs the "
        f"value.\nInstead: {instead or cures.of_number(code, _kind_of(tracer), wanted)}",
    )


def _kind_of(tracer: _Traced) -> str:
    """Returns the Python type of a tracer's elements: "int", "float", "complex"; empty for others."""
    kind = getattr(getattr(tracer.aval, "dtype", None), "kind", "")
    return {"i": "int", "u": "int", "f": "float", "c": "complex"}.get(kind, "")


def format_error(tracer: _Traced) -> TypeError:
    """For f"{x:.3f}"."""
    code = user_code.current()
    text, instead = print_cures.of_format(code)
    return TypeError(
        f"{messages.located(text, 'format(x, spec)', code)}: the value of a {_type_of(tracer)} cannot "
        f"be written while its function is traced, only its type, {type(tracer).__name__}."
        f"\nInstead: {instead}, which prints when the function runs."
        f"{messages.see('format-of-tracer')}"
    )


def deleted_array_error(
    aval: AbstractValue, given_to: tuple[str, CodeType, int] | None
) -> RuntimeError:
    """For an array that was deleted or donated.

    Args:
      aval: its type.
      given_to: the function that it was donated to, and where that was called; None for others.
    """
    code = user_code.current()
    name = messages.variable_of(aval, code) or "the array"
    subject = messages.at_expression(f"{name}, {aval.str_short()}, has been", code)
    if given_to is None:
        return RuntimeError(
            f"{subject} deleted, by a call of its method `delete`.\nInstead: delete it later"
            f"{messages.see('donated-array')}"
        )
    function, caller, lasti = given_to
    line = source_info.span(caller, lasti)[0]
    place = f"{os.path.basename(caller.co_filename)}:{line}"
    return RuntimeError(
        f"{subject} deleted: its memory was given away to {function} at {place} (donate_argnums), for "
        f"its result.\nInstead: use what {function} returned, or do not donate the argument."
        f"{messages.see('donated-array')}"
    )


def check_truth_is_unambiguous(aval: AbstractValue) -> None:
    """Raises ValueError for arrays that are not one element."""
    if aval.size == 0:
        raise ValueError(
            f"bool(x) needs an array of one element, but x is {aval.str_short()}, an empty one; "
            "`x.size > 0` tells whether there are any"
        )
    if aval.size > 1:
        code = user_code.current()
        truth = cures.of_truth(code, traced=False)
        raise ValueError(
            f"{messages.located(truth.asked, 'bool(x)', code)}: Python needs one truth value of "
            f"{aval.str_short()}, whose elements have one each: it is ambiguous.\n"
            f"Instead: {truth.instead}{messages.see('ambiguous-truth')}"
        )


def check_scalar_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not scalars."""
    if x.ndim > 0:
        raise TypeError(
            f"a Python number needs an array without axes, but x has shape {x.shape} and rank "
            f"{x.ndim}; select an element, or call x.item() if there is only one"
        )


def check_integer_conversion(x: Array) -> None:
    """Raises TypeError for arrays that are not integer scalars."""
    if not (x.shape == () and x.dtype.kind in "iu"):
        raise TypeError(
            "an index for Python must be an integer scalar array, but x is of dtype "
            f"{x.dtype.name} and "
            f"shape {x.shape}"
        )


def escaped_tracer_message(tracer: _Traced, detail: str = "") -> str:
    """Returns what to tell of a tracer met where its trace is not under way."""
    kind = type(tracer).__name__
    message = (
        "A tracer leaked: a function that was traced kept a value of type "
        f"{tracer.aval.str_short()}, a "
        f"{kind}, which is used now that the function has returned, and which never had values."
        "\nReturn from the function what is needed later. Its variables end with it, but globals, "
        "attributes of objects, and lists and caches outside of it keep what is put into them."
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
