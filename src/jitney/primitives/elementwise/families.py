"""Families of elementwise primitives with shared rules.

`unary`, `binary` and `nary` declare a primitive and its public function in one call. They set

- the type rule: accepted dtypes, equality of dtypes, shapes and weak types;
- the eager rule and the lowering, which apply the scalar function with the primitive's name, an
  entry of `compiler.scalar_functions`.

Operands of an n-ary primitive have the same rank, and along each axis their sizes are equal or 1;
scalar operands may be combined with any shape. A result is weakly typed if all operands are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

import numpy as np

from jitney.compiler.reference import scalar as reference
from jitney.core.messages import messages
from jitney.core.sharding_in_types import sums
from jitney.core.source import user_code
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, is_valid_operand, shaped_array
from jitney.primitives.elementwise.accuracy import check_accuracy
from jitney.primitives.elementwise.compiled_rules import compiled_unless_finite

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.elementwise.accuracy import Accuracy
    from jitney.primitives.rule_types import Builder, Node

Shape = tuple[int, ...]
Function = TypeVar("Function", bound=Callable[..., object])
Accepts = tuple[type[np.generic] | np.dtype[Any], ...] | None
"""The categories of dtypes that a primitive accepts; None stands for all dtypes, including keys."""

ResultDType = Callable[["DType"], "DType"]
"""A function from the operand dtype to the result dtype."""

FLOAT: Accepts = (np.floating,)
INEXACT: Accepts = (np.floating, np.complexfloating)
NUMERIC: Accepts = (np.integer, np.floating, np.complexfloating)
REAL: Accepts = (np.integer, np.floating)
ORDERED: Accepts = (np.integer, np.floating, np.bool_)
NOT_KEYS: Accepts = (*ORDERED, np.complexfloating)
INTEGER: Accepts = (np.integer,)
BITS: Accepts = (np.integer, np.bool_)
COMPLEX: Accepts = (np.complexfloating,)

BOOL = np.dtype(bool)


# --- dtypes -----------------------------------------------------------------------------------


def is_accepted(dtype: DType, accepts: Accepts) -> bool:
    """Returns whether `dtype` is in one of the categories `accepts`."""
    return accepts is None or any([dtypes.issubdtype(dtype, kind) for kind in accepts])


# Names of dtype categories in messages; single dtypes are named as usual.
_KINDS: dict[object, str] = {
    np.bool_: "boolean",
    np.integer: "integer",
    np.signedinteger: "signed integer",
    np.unsignedinteger: "unsigned integer",
    np.floating: "floating",
    np.complexfloating: "complex",
}


def names(accepts: Accepts) -> str:
    """Returns the categories of dtypes for messages, such as "integer, floating or complex"."""
    names: list[str] = [
        str(kind) if isinstance(kind, np.dtype) else _KINDS.get(kind) or str(kind.__name__)
        for kind in accepts or ()
    ]
    return " or ".join([part for part in (", ".join(names[:-1]), *names[-1:]) if part])


def check_dtype(name: str, dtype: DType, accepts: Accepts, position: int | None = None) -> None:
    """Raises TypeError unless primitive `name` accepts `dtype` (for the operand at `position`)."""
    if not is_accepted(dtype, accepts):
        where = "" if position is None else f" at position {position}"
        if dtype == dtypes.float0:
            raise dtypes.float0_error(name, where)
        operand = "the operand" if position is None else f"operand {position}"
        raise TypeError(
            f"{messages.subject(name)}: {operand} must be {names(accepts)}, but is "
            f"{dtypes.long_name(dtype)}"
        )


# lax function -> function of jax.numpy that promotes dtypes
_PROMOTING = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "remainder", "max": "maximum",
    "min": "minimum", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift", "shift_right_logical": "right_shift",
    "atan2": "arctan2", "select": "where", "add": "add", "nextafter": "nextafter",
    "concatenate": "concatenate",
}  # fmt: skip


def check_same_dtypes(name: str, avals: Sequence[AbstractValue]) -> None:
    """Raises TypeError unless all dtypes are equal."""
    first = avals[0].dtype
    if all([a.dtype == first for a in avals]):
        return
    listed = ", ".join(dtypes.long_name(a.dtype) for a in avals)
    tip = ""
    if name in _PROMOTING:
        tip = f"; jnp.{_PROMOTING[name]} promotes its operands to one dtype"
    raise TypeError(f"lax.{name}: all operands must have one dtype, but have {listed}{tip}")


# --- shapes -----------------------------------------------------------------------------------


def broadcast_shape(name: str, avals: Sequence[AbstractValue]) -> Shape:
    """Returns the common shape of operands of equal rank or rank 0; broadcasts axes of size 1."""
    shape = avals[0].shape
    if all([a.shape == shape for a in avals]):
        return shape
    shapes = [a.shape for a in avals if a.shape]
    if len({len(s) for s in shapes}) > 1:
        ranks = sorted({len(s) for s in shapes})
        raise TypeError(
            f"{name}: all operands must be scalars or have the same rank, but their ranks are "
            f"{', '.join(map(str, ranks))}; functions of jnp broadcast operands of different ranks"
        )
    out: list[int] = []
    for extents in zip(*shapes, strict=True):
        sizes = {n for n in extents if n != 1}
        if len(sizes) > 1:
            raise TypeError(unlike_shapes(name, avals))
        out.append(sizes.pop() if sizes else 1)
    return tuple(out)


def unlike_shapes(name: str, avals: Sequence[AbstractValue]) -> str:
    """Returns the error message for operands with incompatible shapes."""
    shapes = [a.shape for a in avals if a.shape]
    rank = max(map(len, shapes))
    columns = zip(*[(1,) * (rank - len(s)) + s for s in shapes], strict=True)
    unlike = next(sizes for sizes in columns if len({*sizes} - {1}) > 1)
    met = list(dict.fromkeys(n for n in unlike if n != 1))
    listed = ", ".join(str(s) for s in shapes)
    labels = ("left", "right") if len(avals) == 2 else [f"operand {i}" for i in range(len(avals))]
    return messages.refusal(
        name,
        f"the shapes {listed} do not broadcast: axes are aligned at the last one, and "
        f"{met[0]} meets {met[1]}.",
        tuple(zip(labels, avals, strict=True)),
        _stretched(avals),
        "unlike-shapes",
    )


def _stretched(avals: Sequence[AbstractValue]) -> str:
    """Returns advice for two operands whose shapes match if their first axes are aligned."""
    if len(avals) != 2 or avals[0].ndim == avals[1].ndim:
        return ""
    small, large = sorted((a.shape for a in avals), key=len)
    if any(n not in (1, m) for n, m in zip(small, large, strict=False)):
        return ""
    name = messages.variable_of(min(avals, key=lambda a: a.ndim), user_code.current()) or "y"
    new = ", None" * (len(large) - len(small))
    axes = ":" if len(small) == 1 else "..."
    return f"{name}[{axes}{new}], to align axes at the first one"


def broadcast_nodes(b: Builder, nodes: Sequence[Node]) -> list[Node]:
    """Broadcasts tensor IR nodes to their common shape (see `broadcast_shape`)."""
    shape = nodes[0].shape
    if all(n.shape == shape for n in nodes):
        return list(nodes)
    rank = max(len(n.shape) for n in nodes)
    shape = tuple(
        next((n.shape[k] for n in nodes if n.shape and n.shape[k] != 1), 1) for k in range(rank)
    )
    return [stretch(b, n, shape) for n in nodes]


def stretch(b: Builder, node: Node, shape: Shape) -> Node:
    """Broadcasts `node`, a scalar or a node with the rank of `shape`, to `shape`."""
    if node.shape == shape:
        return node
    return b.broadcast(node, shape, tuple(range(len(node.shape))))


# --- families ---------------------------------------------------------------------------------


def _same(dtype: DType) -> DType:
    return dtype


def to_bool(*_: DType) -> np.dtype:
    """Returns the result dtype of predicates."""
    return BOOL


_REAL: dict[DType, DType] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_COMPLEX = {real: complex_ for complex_, real in _REAL.items()}


@overload
def real_part(dtype: np.dtype) -> np.dtype: ...
@overload
def real_part(dtype: DType) -> DType: ...
def real_part(dtype: DType) -> DType:
    """Returns the dtype of the components of a complex `dtype`; real dtypes are unchanged."""
    return _REAL.get(dtype, dtype)


@overload
def with_imaginary_part(dtype: np.dtype) -> np.dtype: ...
@overload
def with_imaginary_part(dtype: DType) -> DType: ...
def with_imaginary_part(dtype: DType) -> DType:
    """Returns the complex dtype with components of a real `dtype`; complex dtypes are unchanged."""
    return _COMPLEX.get(dtype, dtype)


class UnaryFunction(Protocol):
    """A public function of one operand."""

    def __call__(self, x: ArrayLike) -> Array: ...


class UnaryFunctionWithAccuracy(Protocol):
    """A public function of one operand with the option `accuracy`."""

    def __call__(self, x: ArrayLike, *, accuracy: Accuracy = None) -> Array: ...


class BinaryFunction(Protocol):
    """A public function of two operands."""

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...


@overload
def unary(
    name: str,
    accepts: Accepts,
    doc: str,
    *,
    result: ResultDType = ...,
    accuracy: Literal[True],
    linear: bool = ...,
    error: str = ...,
) -> tuple[Primitive, UnaryFunctionWithAccuracy]: ...


@overload
def unary(
    name: str,
    accepts: Accepts,
    doc: str,
    *,
    result: ResultDType = ...,
    accuracy: Literal[False] = ...,
    linear: bool = ...,
    error: str = ...,
) -> tuple[Primitive, UnaryFunction]: ...


def unary(
    name: str,
    accepts: Accepts,
    doc: str,
    *,
    result: ResultDType = _same,
    accuracy: bool = False,
    linear: bool = False,
    error: str = "",
) -> tuple[Primitive, UnaryFunction]:
    """Declares an elementwise primitive with one operand; returns it and its public function.

    Args:
      name: name of the primitive, of its scalar function and of the public function.
      accepts: categories of operand dtypes.
      doc: summary line of the public function's docstring, optionally followed by an example.
      result: function from the operand dtype to the result dtype.
      accuracy: whether the function has the parameter `accuracy`. It affects derivatives only, as
        results always have the accuracy stated in the table of scalar functions.
      linear: whether the function is linear.
      error: error bound of the results, for the docstring; "" if they are correctly rounded.
    """
    prim = declare(name, linear=linear)

    @prim.abstract
    def abstract_rule(x: ShapedArray, **_: object) -> ShapedArray:
        check_dtype(name, x.dtype, accepts)
        return shaped_array(x.shape, result(x.dtype), x.weak_type)

    _set_scalar_rules(prim, name, result)
    bind = prim.bind
    if accuracy:

        def function(  # pyright: ignore[reportRedeclaration]  # one function or the other
            x: ArrayLike, *, accuracy: Accuracy = None
        ) -> Array:
            if accuracy is not None:
                check_accuracy(name, accuracy)
            try:
                return bind(x, accuracy=accuracy)
            except TypeError:
                check_operands(name, x)
                raise

    else:

        def function(x: ArrayLike) -> Array:
            try:
                return bind(x)
            except TypeError:
                check_operands(name, x)
                raise

    sections = _sections({"x": accepts}, result, accuracy=accuracy, error=error)
    return prim, named(function, name, doc, sections)


def nary(
    name: str,
    accepts: Sequence[Accepts],
    doc: str,
    *,
    result: ResultDType = _same,
    same_dtypes: bool = True,
    fn: str | None = None,
    public: str | None = None,
    weak: Callable[..., bool] | None = None,
    names: Sequence[str] = "xyz",
    error: str = "",
    linearity: sums.Linearity = sums.NONLINEAR,
) -> tuple[Primitive, Callable[..., Array]]:
    """Declares an elementwise primitive with several operands; returns it and its public function.

    Args:
      name: name of the primitive.
      accepts: categories of operand dtypes, for each operand.
      doc: summary line of the public function's docstring, optionally followed by an example.
      result: function from the dtype of the first operand to the result dtype.
      same_dtypes: whether all operands must have the same dtype.
      fn: name of the scalar function, if it differs from `name`.
      public: name of the public function, if it differs from `name`.
      weak: function from the operands' weak types to that of the result; by default `all`.
      names: parameter names of the public function.
      error: see `unary`.
      linearity: the operands in which the function is linear.
    """
    prim = declare(name)
    prim.linearity = linearity

    @prim.abstract
    def abstract_rule(*avals: ShapedArray, **_: object) -> ShapedArray:
        check_nary(name, avals, accepts, same_dtypes)
        shape = broadcast_shape(name, avals)
        weak_types = [a.weak_type for a in avals]
        weak_type = all(weak_types) if weak is None else weak(*weak_types)
        return shaped_array(shape, result(avals[0].dtype), weak_type)

    _set_scalar_rules(prim, fn or name, result)
    bind = prim.bind
    if len(accepts) == 2:

        def function(  # pyright: ignore[reportRedeclaration]  # one function or the other
            x: ArrayLike, y: ArrayLike
        ) -> Array:
            try:
                return bind(x, y)
            except TypeError:
                check_operands(name, x, y)
                raise

    else:

        def function(x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Array:
            try:
                return bind(x, y, z)
            except TypeError:
                check_operands(name, x, y, z)
                raise

    called = names[: len(accepts)]
    code = function.__code__
    local_names = code.co_varnames[len(called) :]
    function.__code__ = code.replace(co_varnames=(*called, *local_names))
    sections = _sections(dict(zip(called, accepts, strict=True)), result, error=error)
    return prim, named(function, public or name, doc, sections)


@overload
def binary(
    name: str, accepts: Accepts, doc: str, *, names: Sequence[str], **options: Any
) -> tuple[Primitive, Callable[..., Array]]: ...


@overload
def binary(
    name: str, accepts: Accepts, doc: str, **options: Any
) -> tuple[Primitive, BinaryFunction]: ...


def binary(
    name: str, accepts: Accepts, doc: str, **options: Any
) -> tuple[Primitive, Callable[..., Array]]:
    """Declares an elementwise primitive with two operands of the same categories; see `nary`."""
    return nary(name, (accepts, accepts), doc, **options)


def check_nary(
    name: str, avals: Sequence[ShapedArray], accepts: Sequence[Accepts], same_dtypes: bool = True
) -> None:
    """Raises TypeError if dtypes of operands are not accepted, or differ but must be equal."""
    for i, (aval, kinds) in enumerate(zip(avals, accepts, strict=True)):
        check_dtype(name, aval.dtype, kinds, i)
    if same_dtypes:
        check_same_dtypes(name, avals)


def _set_scalar_rules(prim: Primitive, fn: str, result: ResultDType) -> None:
    meaning = reference.function(fn)
    of_small, large = reference.for_small(meaning)
    has_parts = fn in reference.COMPLEX_FUNCTIONS

    @prim.eager
    def eager_rule(*values: np.ndarray, **params: object) -> np.ndarray:
        last = values[-1]
        kind = last.dtype.kind
        if kind in "cV":
            if kind == "V":
                return reference.apply(fn, values)
            if has_parts:
                return compiled_unless_finite(prim, meaning(*values), values, params)
        if last.size < large and values[0].size < large:
            return of_small(*values)
        return meaning(*values)

    prim.stretches = True

    @prim.lower
    def lower_rule(b: Builder, *nodes: Node, **_: object) -> Node:
        return b.apply(fn, *broadcast_nodes(b, nodes))


def named(function: Function, name: str, doc: str, sections: str) -> Function:
    """Turns `function` into the public `jax.lax` function `name`, with its docstring.

    Args:
      function: a function created for one primitive of a family.
      name: name of the public function.
      doc: the summary, optionally followed by an example.
      sections: the sections between summary and example, which the functions of a family share.
    """
    what, mark, example = doc.partition(_EXAMPLE)
    function.__name__ = function.__qualname__ = name
    shared = sections.rstrip().removeprefix("\n")
    function.__doc__ = f"{what.rstrip()}\n\n{shared}\n{mark}{example}"
    function.__module__ = "jax.lax"
    return function


_EXAMPLE = "\n    Example:\n"
_WORDS: dict[Accepts, str] = {
    None: "array of any dtype",
    FLOAT: "floating array",
    INEXACT: "floating or complex array",
    NUMERIC: "integer, floating or complex array",
    REAL: "integer or floating array",
    ORDERED: "integer, floating or boolean array",
    INTEGER: "integer array",
    BITS: "integer or boolean array",
    COMPLEX: "complex array",
}
_RESULTS: dict[ResultDType, str] = {
    _same: "the same dtype",
    to_bool: "dtype bool",
    real_part: "the dtype of the real part of x",
    with_imaginary_part: "the complex dtype of the same precision",
}


def _sections(
    operands: dict[str, Accepts],
    result: ResultDType,
    *,
    accuracy: bool = False,
    error: str,
) -> str:
    """Returns the sections on arguments, result, accuracy and errors of a public docstring."""
    lines = ["    Args:"]
    first = next(iter(operands))
    for name, accepts in operands.items():
        what = _WORDS.get(accepts) or f"array whose dtype is {names(accepts)}"
        others = f" with the dtype of {first}; a scalar, or of the same rank"
        others = "" if name == first else others
        lines.append(f"      {name}: {what}{others}.")
    if accuracy:
        lines.append("      accuracy: affects only derivatives; see `AccuracyMode`.")
    shape = "the shape of x" if len(operands) == 1 else "the broadcast shape"
    lines += [
        "",
        f"    Returns: array with {shape} and {_RESULTS.get(result, 'the same dtype')}.",
        "",
    ]
    if error:
        lines += [f"    Accuracy: within {error}.", ""]
    shapes = "" if len(operands) == 1 else ", or if shapes do not broadcast"
    lines += ["    Raises:", f"      TypeError: if a dtype is not supported{shapes}."]
    return "\n".join(lines)


# --- operands ---------------------------------------------------------------------------------


def check_operands(name: str, *operands: object) -> None:
    """Raises TypeError for the first of `operands` that is not a valid operand."""
    for i, x in enumerate(operands):
        if not is_valid_operand(x):
            raise TypeError(
                f"{messages.subject(name)}: operands must be arrays or scalars, but the one at "
                f"position {i} is of type {type(x)}"
            )
