"""Dtypes: names, canonical forms, categories and JAX's promotion rules.

Promotion is a join in a lattice of scalar types (see the diagram in JAX's documentation of type
promotion), in which Python scalars are weak types below or beside the dtypes of their kind. In
32-bit mode (the default), values with 64-bit dtypes are converted to the corresponding 32-bit
dtypes on entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, overload

import ml_dtypes
import numpy as np

from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.settings import caches, config
from jitney.core.source.user_warnings import warn
from jitney.core.types.extended_dtypes import (
    DType as DType,
    ExtendedDType as ExtendedDType,
    KeyDType as KeyDType,
    extended as extended,
    is_extended as is_extended,
    keys_of_words as keys_of_words,
    physical_dtype as physical_dtype,
    prng_key as prng_key,
    words_of_key as words_of_key,
)

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike, SupportsArray, Value

D = TypeVar("D", bound="DType")
T = TypeVar("T")

# --- scalar types beyond NumPy's ------------------------------------------------------------------

bfloat16 = ml_dtypes.bfloat16
int2, int4 = ml_dtypes.int2, ml_dtypes.int4
uint2, uint4 = ml_dtypes.uint2, ml_dtypes.uint4
float8_e3m4 = ml_dtypes.float8_e3m4
float8_e4m3 = ml_dtypes.float8_e4m3
float8_e4m3b11fnuz = ml_dtypes.float8_e4m3b11fnuz
float8_e4m3fn = ml_dtypes.float8_e4m3fn
float8_e4m3fnuz = ml_dtypes.float8_e4m3fnuz
float8_e5m2 = ml_dtypes.float8_e5m2
float8_e5m2fnuz = ml_dtypes.float8_e5m2fnuz
float8_e8m0fnu = ml_dtypes.float8_e8m0fnu
float6_e2m3fn, float6_e3m2fn = ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn
float4_e2m1fn = ml_dtypes.float4_e2m1fn
# ml_dtypes has 1-bit integers since version 0.6.
int1_types: tuple[type[Any], ...] = tuple(
    getattr(ml_dtypes, name) for name in ("int1", "uint1") if hasattr(ml_dtypes, name)
)

float8_types = (
    float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, float8_e8m0fnu,
)  # fmt: skip
float6_types = (float6_e2m3fn, float6_e3m2fn)
custom_float_types = (bfloat16, *float8_types, *float6_types, float4_e2m1fn)
custom_int_types = (*int1_types, int2, int4, uint2, uint4)

# The dtype of tangents of integers; it carries no data.
float0 = np.dtype([("float0", np.void, 0)])

numpy_scalar_types: tuple[type, ...] = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
    np.longlong, np.ulonglong,  # distinct types even if they are equivalent to int64 and uint64
    *custom_float_types, *custom_int_types,
)  # fmt: skip


# --- names ----------------------------------------------------------------------------------------


@caches.memoized("dtype rules", "dtypes, settings", 1024)
def short_name(dtype: DType) -> str:
    """Returns the name of a dtype in jaxprs: f32, bf16, i8, u32, bool, c64, key<fry>."""
    if is_extended(dtype):
        return dtype.name
    if dtype == float0:
        return "float0"
    name = np.dtype(dtype).name
    for long, short in (
        ("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"),
    ):  # fmt: skip
        if name.startswith(long):
            return name.replace(long, short, 1)
    return name


def long_name(dtype: DTypeLike | ExtendedDType) -> str:
    """Returns the name of a dtype in messages: float32, bfloat16, key<fry>."""
    if is_extended(dtype):
        return dtype.name
    return "float0" if dtype == float0 else np.dtype(dtype).name


# --- canonical forms ------------------------------------------------------------------------------

_NARROWED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}
# Arrays with these dtypes, made while x64 was enabled, are narrowed on use while it is disabled.
WIDE: frozenset[Any] = frozenset(_NARROWED)
_NARROW = frozenset(_NARROWED.values())
_PYTHON_DTYPES: dict[type, np.dtype] = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def python_scalar_dtype(kind: type) -> np.dtype:
    """Returns the widest dtype for a Python type: bool, int, float or complex."""
    return _PYTHON_DTYPES[kind]


@overload
def _as_dtype(d: DTypeLike) -> np.dtype: ...
@overload
def _as_dtype(d: ExtendedDType) -> ExtendedDType: ...
def _as_dtype(d: DTypeLike | ExtendedDType) -> DType:
    if isinstance(d, np.dtype) or is_extended(d):
        return d
    python_dtype = _PYTHON_DTYPES.get(d) if isinstance(d, type) else None
    if python_dtype is not None:
        return python_dtype
    if not isinstance(d, type | str | np.dtype) and hasattr(d, "dtype"):
        if isinstance(d, np.ndarray):
            raise TypeError("expected a dtype, but got an array; pass its dtype, arr.dtype")
        if isinstance(d, Array):
            raise ValueError("expected a dtype, but got an array; pass its dtype, arr.dtype")
        return _as_dtype(d.dtype)
    try:
        return np.dtype(d)
    except TypeError:
        raise TypeError(f"{d!r} is not a dtype{_instead(d)}") from None


def _instead(d: object) -> str:
    """Returns a message line that suggests a dtype for an object that does not name one."""
    if isinstance(d, str):
        import difflib

        near = difflib.get_close_matches(d, [np.dtype(t).name for t in numpy_scalar_types], 1)
        return f"\nInstead: {near[0]!r}" if near else ""
    if isinstance(d, int) and not isinstance(d, bool):
        return "\nInstead: pass a dtype, such as jnp.float32, and the sizes of a shape as one tuple"
    return ""


def canonicalize_dtype(dtype: DTypeLike | ExtendedDType, allow_extended_dtype: bool = False) -> Any:
    """Returns the canonical form of `dtype`.

    64-bit dtypes are replaced by the corresponding 32-bit ones, and complex128 by complex64, unless
    x64 is enabled.
    """
    own = dtype if isinstance(dtype, np.dtype) else _as_dtype(dtype)
    if config.x64_enabled() or isinstance(own, ExtendedDType):
        return own
    return _NARROWED.get(own, own)  # `narrowed`, inlined: hot path


def requested_dtype(d: DTypeLike | ExtendedDType) -> Any:
    """Returns the dtype of an array for which a user requests the dtype `d`.

    It is the canonical dtype, or `d` itself if `jax_explicit_x64_dtypes` is "allow". The dtypes of
    Python types and of existing data are narrowed in either case.
    """
    own = d if isinstance(d, np.dtype) else _as_dtype(d)
    dtype = canonicalize_dtype(own)
    is_asked_for = dtype is not own and not (isinstance(d, type) and d in _PYTHON_DTYPES)
    return own if is_asked_for and config.keeps_wide() else dtype


def narrowed(dtype: np.dtype[Any]) -> np.dtype:
    """Returns the dtype that replaces `dtype` in 32-bit mode; `dtype` if it is not 64-bit."""
    return _NARROWED.get(dtype, dtype)


def is_of_scalars(dtype: DType, weak_type: bool) -> bool:
    """Returns whether Python scalars (if `weak_type`) or NumPy scalars can have the dtype `dtype`.

    The result is False for 64-bit dtypes that were explicitly requested without x64. With x64, it
    is also False for the narrower dtypes of weakly typed arrays that were made without x64.
    """
    if dtype in WIDE:
        return not config.keeps_wide()
    return not (weak_type and dtype in _NARROW and config.x64_enabled())


def check_valid_dtype(dtype: Any) -> None:
    """Raises TypeError if arrays cannot have this dtype."""
    if is_extended(dtype) or dtype == float0:
        return
    if dtype.type in numpy_scalar_types:
        if dtype.isnative:
            return
        raise TypeError(
            f"arrays cannot have dtype {dtype.str}: its byte order is not native; "
            "x.astype(x.dtype.newbyteorder('=')) converts it"
        )
    raise TypeError(
        messages.at_expression(
            f"arrays cannot have dtype {dtype}: elements must be numeric or boolean, not strings "
            "or objects"
        )
    )


# --- categories -----------------------------------------------------------------------------------


def issubdtype(a: DTypeLike | ExtendedDType, b: DTypeLike | ExtendedDType) -> bool:
    """Returns whether dtype `a` belongs to dtype or category `b`; both may be extended dtypes."""
    try:
        return _known_issubdtype(a, b)
    except TypeError:  # not hashable, or not a dtype
        return _issubdtype(a, b)


def _issubdtype(a: DTypeLike | ExtendedDType, b: DTypeLike | ExtendedDType) -> bool:
    if isinstance(a, ExtendedDType) or isinstance(b, ExtendedDType):
        if isinstance(a, ExtendedDType) and isinstance(b, type):
            return issubclass(a.type, b)
        return a == b if type(a) is type(b) else False
    a, b = _dtype_of(a), _dtype_of(b)
    a_type = _scalar_type(a)
    if isinstance(b, type) and b in _CATEGORY_MEMBERS:
        if a_type in _CUSTOM_CATEGORY:
            return b in _CUSTOM_CATEGORY[a_type]
        return issubclass(a_type, b)
    b_type = _scalar_type(b)
    return a_type is b_type or issubclass(a_type, b_type)


def _dtype_of(x: T) -> T | np.dtype:
    """Returns the dtype of `x` if it is an array or tracer, for comparisons of dtypes, else `x`."""
    return x.dtype if isinstance(x, Array) else x


def _scalar_type(d: DTypeLike | ExtendedDType) -> type:
    if isinstance(d, type) and np.generic in d.__mro__:
        return d
    return _as_dtype(d).type


_known_issubdtype = caches.memoized("dtype rules", "dtypes, settings", 1024)(_issubdtype)


_CATEGORY_MEMBERS = (
    np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer,
    np.signedinteger, np.unsignedinteger, extended, prng_key,
)  # fmt: skip
_CUSTOM_CATEGORY: dict[type, tuple[type, ...]] = {
    **dict.fromkeys(custom_float_types, (np.generic, np.number, np.inexact, np.floating)),
    **dict.fromkeys(
        (*int1_types[:1], int2, int4), (np.generic, np.number, np.integer, np.signedinteger)
    ),
    **dict.fromkeys(
        (*int1_types[1:], uint2, uint4), (np.generic, np.number, np.integer, np.unsignedinteger)
    ),
}


def tangent_dtype(dtype: DType) -> DType:
    """Returns the dtype of tangents: `dtype` if it is inexact, else float0.

    An extended dtype defines the dtype of its tangents itself.
    """
    if isinstance(dtype, ExtendedDType):
        return dtype.tangent or float0
    return dtype if issubdtype(dtype, np.inexact) else float0


_small_finfo: Callable[[np.dtype[Any]], np.finfo[Any]] = ml_dtypes.finfo


def finfo(dtype: DTypeLike) -> np.finfo[Any]:
    """Returns the limits of a floating-point dtype; see `numpy.finfo`."""
    d: np.dtype[Any] = np.dtype(dtype)
    return _small_finfo(d) if d.type in custom_float_types else np.finfo(d)


def iinfo(int_type: DTypeLike) -> np.iinfo | ml_dtypes.iinfo:
    """Returns the limits of an integer dtype; see `numpy.iinfo`."""
    d: np.dtype[Any] = np.dtype(int_type)
    return ml_dtypes.iinfo(d) if d.type in custom_int_types else np.iinfo(d)


# --- promotion ------------------------------------------------------------------------------------


class TypePromotionError(ValueError):
    """Dtypes have no common dtype to which they are implicitly promoted."""


def _d(kind: DTypeLike) -> np.dtype:
    return np.dtype(kind)


_Node: TypeAlias = "np.dtype[Any] | type[int] | type[float] | type[complex]"

# Node of the lattice -> nodes directly above it. `int`, `float` and `complex` are the weak types.
_LATTICE: dict[_Node, tuple[_Node, ...]] = {
    _d(bool): (int,),
    int: (*map(_d, custom_int_types), _d(np.int8), _d(np.uint8)),
    **{_d(t): () for t in custom_int_types},
    _d(np.uint8): (_d(np.int16), _d(np.uint16)),
    _d(np.uint16): (_d(np.int32), _d(np.uint32)),
    _d(np.uint32): (_d(np.int64), _d(np.uint64)),
    _d(np.uint64): (float,),
    _d(np.int8): (_d(np.int16),),
    _d(np.int16): (_d(np.int32),),
    _d(np.int32): (_d(np.int64),),
    _d(np.int64): (float,),
    float: (*map(_d, custom_float_types), _d(np.float16), complex),
    **{_d(t): () for t in custom_float_types},
    _d(bfloat16): (_d(np.float32),),
    _d(np.float16): (_d(np.float32),),
    _d(np.float32): (_d(np.float64), _d(np.complex64)),
    _d(np.float64): (_d(np.complex128),),
    complex: (_d(np.complex64),),
    _d(np.complex64): (_d(np.complex128),),
    _d(np.complex128): (),
}  # fmt: skip

# In strict mode only weak types are promoted, to dtypes of the same kind or a higher one.
_STRICT_WEAK_ABOVE: dict[_Node, tuple[_Node, ...]] = {
    int: tuple(n for n in _LATTICE if isinstance(n, np.dtype) and n != _d(bool)) + (float, complex),
    float: tuple(
        n for n in _LATTICE if isinstance(n, np.dtype) and issubdtype(n, np.inexact)
    ) + (complex,),
    complex: (_d(np.complex64), _d(np.complex128)),
}  # fmt: skip


@caches.memoized("dtype rules", "dtypes, settings", 128)
def _upper_bounds(node: _Node, strict: bool) -> frozenset[_Node]:
    """Returns `node` and all nodes above it."""
    if strict:
        return frozenset({node, *_STRICT_WEAK_ABOVE.get(node, ())})
    bounds = {node}
    stack = [node]
    while stack:
        for above in _LATTICE[stack.pop()]:
            if above not in bounds:
                bounds.add(above)
                stack.append(above)
    return frozenset(bounds)


@caches.memoized("dtype rules", "dtypes, settings", 1024)
def _join(nodes: frozenset[_Node], strict: bool) -> _Node:
    """Returns the least upper bound of `nodes`."""
    if len(nodes) == 1:
        return next(iter(nodes))
    for node in nodes:
        if node not in _LATTICE:
            if isinstance(node, np.dtype):
                check_valid_dtype(node)
            raise TypePromotionError(
                f"dtypes {_listed(nodes)} have no common dtype; cast the operands with astype"
            )
    first, *others = [_upper_bounds(n, strict) for n in nodes]
    common = first.intersection(*others)
    if strict:
        least = [n for n in common if n in nodes]
    else:
        least = [n for n in common if _upper_bounds(n, strict) >= common]
    return least[0] if len(least) == 1 else _refuse_promotion(nodes, strict)


def _listed(nodes: frozenset[_Node]) -> str:
    return str(tuple(sorted(n.__name__ if isinstance(n, type) else long_name(n) for n in nodes)))


def _refuse_promotion(nodes: frozenset[_Node], strict: bool) -> NoReturn:
    listed = _listed(nodes)
    if strict:
        raise TypePromotionError(
            f"dtypes {listed} have no common dtype, because jax_numpy_dtype_promotion is 'strict'; "
            "cast the operands with x.astype(dtype), or set the option to 'standard'"
        )
    narrow = [n for n in nodes if isinstance(n, np.dtype) and n.itemsize == 1]
    for types, kind, wide in (
        (float8_types, "8-bit floats", "float32"),
        (float6_types, "6-bit floats", "float32"),
        ((float4_e2m1fn,), "4-bit floats", "float32"),
        (custom_int_types, "1-bit, 2-bit and 4-bit integers", "int32"),
    ):
        if any(n.type in types for n in narrow):
            raise TypePromotionError(
                f"dtypes {listed} have no common dtype, because {kind} are never promoted "
                f"implicitly; cast the operands first, for example with x.astype('{wide}')"
            )
    raise TypePromotionError(
        f"dtypes {listed} have no common dtype; cast the operands first, for example with "
        "x.astype('float32')"
    )


@caches.memoized("dtype rules", "dtypes, settings", 4096)
def _promote(
    keys: tuple[tuple[Any, bool], ...], x64: bool | None, strict: bool
) -> tuple[Any, bool]:
    """Returns the common (dtype, weakness) of (dtype, weakness) pairs with canonical dtypes.

    If `x64` is false, 64-bit results are narrowed; if it is None, only those of weak types are.
    """
    if any([is_extended(d) for d, _ in keys]):
        if len({d for d, _ in keys}) == 1:
            return keys[0][0], False
        names = ", ".join(long_name(d) for d, _ in keys)
        raise TypePromotionError(
            messages.at_expression(
                f"dtypes ({names}) have no common dtype: an extended dtype, such as a key dtype, "
                "can be promoted only with itself"
            )
        )
    if all([weak for _, weak in keys]):
        # Weak types are promoted like their dtypes. The result is weak unless it is boolean:
        # comparisons of weak operands are weak, but no Python type is weaker than bool.
        if strict:
            node = _join(frozenset(_weak_node(d) for d, _ in keys), True)
        else:
            node = _join(frozenset([d for d, _ in keys]), False)
        dtype = _PYTHON_DTYPES[node] if isinstance(node, type) else node
        return (dtype if x64 else _NARROWED.get(dtype, dtype)), dtype != np.bool_
    strong = {d for d, weak in keys if not weak}
    if strict and len(strong) == 1 and not any([weak for _, weak in keys]):
        return next(iter(strong)), False
    nodes = frozenset([_weak_node(d) if weak else d for d, weak in keys])
    node = _join(nodes, strict)
    dtype = _PYTHON_DTYPES[node] if isinstance(node, type) else node
    if x64 is False or (x64 is None and node is not dtype):
        dtype = narrowed(dtype)
    return dtype, isinstance(node, type)


@caches.memoized("dtype rules", "dtypes, settings", 256)
def _promotion(epoch: int) -> tuple[bool | None, bool]:
    """Returns the current promotion mode; `epoch` is the current `config.trace_epoch`.

    Returns: (whether 64-bit dtypes are kept, or None if only explicitly requested ones are kept;
      whether the strict rules are in effect).
    """
    width = config.x64_enabled() or (None if config.keeps_wide() else False)
    return width, config.strict_promotion_enabled()


def common_type(types: tuple[tuple[D, bool], ...]) -> tuple[D, bool]:
    """Returns the common (dtype, weakness) of operands with canonical (dtype, weakness) `types`."""
    if len(types) == 1:
        dtype, weak = types[0]
        return dtype, weak and dtype != np.bool_
    return _promote(types, *_promotion(config.trace_epoch()))


def _weak_node(dtype: Any) -> _Node:
    if dtype == np.bool_:
        return dtype
    if issubdtype(dtype, np.integer):
        return int
    return float if issubdtype(dtype, np.floating) else complex


def dtype_and_weakness(x: Any) -> tuple[DType, bool]:
    """Returns (canonical dtype, weakness) of a value, dtype or scalar type."""
    aval = getattr(x, "aval", None)
    if aval is not None and hasattr(aval, "weak_type"):
        return aval.dtype, aval.weak_type
    kind = type(x)  # pyright: ignore[reportUnknownVariableType]  # anything's class
    if kind in _PYTHON_DTYPES:
        return canonicalize_dtype(_PYTHON_DTYPES[kind]), kind is not bool
    if isinstance(x, type) and x in _PYTHON_DTYPES:
        return canonicalize_dtype(_PYTHON_DTYPES[x]), x is not bool
    if hasattr(x, "dtype") and not isinstance(x, type):
        return canonicalize_dtype(x.dtype), bool(getattr(x, "weak_type", False))
    convert = getattr(x, "__jax_array__", None)
    if convert is not None:
        return dtype_and_weakness(convert())
    if config.explicit_x64_dtypes.value == "error":
        check_user_dtype_supported(x, "dtype")
    return requested_dtype(x), False


@overload
def lattice_result_type(*args: Value | SupportsArray | DTypeLike) -> tuple[np.dtype, bool]: ...
@overload
def lattice_result_type(
    *args: Value | SupportsArray | DTypeLike | ExtendedDType,
) -> tuple[DType, bool]: ...
def lattice_result_type(
    *args: Value | SupportsArray | DTypeLike | ExtendedDType,
) -> tuple[DType, bool]:
    """Returns the common (dtype, weakness) of `args`: values, dtypes or scalar types."""
    keys = tuple([dtype_and_weakness(a) for a in args])
    if len(keys) == 1:
        return keys[0]
    return _promote(keys, *_promotion(config.trace_epoch()))


def wider(*dtypes: DTypeLike) -> np.dtype:
    """Returns the common dtype of canonical `dtypes`, even if strict promotion would reject them.

    It is for functions that compute in a wider dtype than the dtype of their operands.
    """
    width, _ = _promotion(config.trace_epoch())
    return _promote(tuple([(np.dtype(d), False) for d in dtypes]), width, False)[0]


def result_type(
    *args: Value | SupportsArray | DTypeLike | ExtendedDType, return_weak_type_flag: bool = False
) -> Any:
    """Returns the dtype of the result of an operation on `args`: values, dtypes or scalar types.

    Raises:
      ValueError: if there are no arguments.
      TypePromotionError: if the dtypes have no common dtype.
    """
    if not args:
        raise ValueError(
            "a result dtype needs at least one operand, but got none; pass arrays or dtypes"
        )
    dtype, weak = lattice_result_type(*args)
    node = _weak_node(dtype) if weak else dtype
    if isinstance(node, type):  # say, of values made under another setting of x64
        dtype = canonicalize_dtype(_PYTHON_DTYPES[node])
    return (dtype, weak) if return_weak_type_flag else dtype


def promote_types(a: DTypeLike | ExtendedDType, b: DTypeLike | ExtendedDType) -> Any:
    """Returns the dtype to which `a` and `b` are promoted; Python types are weakly typed.

    A weakly typed result is NumPy's 64-bit dtype for the Python type, even in 32-bit mode.
    Explicitly passed 64-bit dtypes are promoted to 64-bit dtypes in both modes.
    """
    operands = _dtype_of(a), _dtype_of(b)
    keys = tuple(
        [(_as_dtype(x), isinstance(x, type) and x in (int, float, complex)) for x in operands]
    )
    wide = any(not weak and dtype in _NARROWED for dtype, weak in keys)
    width, is_strict = _promotion(config.trace_epoch())
    promoted, weak = _promote(keys, wide or width, is_strict)
    return np.dtype(_weak_node(promoted)) if weak else promoted


def is_weakly_typed(x: Value | SupportsArray) -> bool:
    """Returns whether `x` is weakly typed, so that it adopts the dtypes of other operands."""
    return dtype_and_weakness(x)[1]


def is_python_scalar(x: Value) -> bool:
    """Returns whether `x` is a Python scalar or a weakly typed scalar array."""
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return bool(weak) and np.ndim(x) == 0
    return type(x) in _PYTHON_DTYPES


@overload
def dtype(x: Value | SupportsArray | DTypeLike, *, canonicalize: bool = True) -> np.dtype: ...
@overload
def dtype(x: object, *, canonicalize: bool = True) -> DType: ...
def dtype(x: object, *, canonicalize: bool = True) -> DType:
    """Returns the dtype of a value, or the dtype of the values of a scalar type.

    Args:
      x: an array, scalar, dtype, scalar type, or object with a `dtype`.
      canonicalize: accepted for compatibility; results are always canonical.

    Raises:
      ValueError: if `x` is None.
      TypeError: if it has no dtype.

    Example:
      >>> lax.dtype(1.0), lax.dtype(complex)
      (dtype('float32'), dtype('complex64'))
    """
    if x is None:
        raise ValueError("None has no dtype; pass an array, a number or a dtype")
    return dtype_and_weakness(x)[0]


def scalar_type_to_dtype(kind: type, value: object = None) -> np.dtype:
    """Returns the canonical dtype of a Python scalar type."""
    return canonicalize_dtype(_PYTHON_DTYPES[kind])


@overload
def to_numeric_dtype(dtype: DTypeLike) -> np.dtype: ...
@overload
def to_numeric_dtype(dtype: ExtendedDType) -> ExtendedDType: ...
def to_numeric_dtype(dtype: DTypeLike | ExtendedDType) -> DType:
    """Returns int32 for bool, and other dtypes unchanged."""
    d = canonicalize_dtype(dtype)
    return np.dtype(np.int32) if d == np.bool_ else d


@overload
def to_inexact_dtype(dtype: DTypeLike) -> np.dtype: ...
@overload
def to_inexact_dtype(dtype: ExtendedDType) -> ExtendedDType: ...
def to_inexact_dtype(dtype: DTypeLike | ExtendedDType) -> DType:
    """Returns the floating-point dtype in which to compute with integers of dtype `dtype`.

    It is float64 for 64-bit integers and float32 for narrower ones. Other dtypes are returned
    unchanged.
    """
    d = requested_dtype(dtype)
    if issubdtype(d, np.inexact):
        return d
    return np.dtype(np.float64 if itemsize_bits(d) == 64 else np.float32)


def float0_error(name: str, where: str = "") -> TypeError:
    """Returns the error for an operation `name` on a float0 operand, which `where` describes."""
    return TypeError(
        f"{name}: operands must be numeric, but got a float0 array{where}. float0 is the dtype of "
        "tangents of integers and booleans. Omit the array, or replace it with zeros, "
        "np.zeros_like(x, dtype=float). If you did not expect a float0 array, check whether a "
        "derivative was taken with respect to an integer."
    )


def itemsize_bits(dtype: DTypeLike) -> int:
    """Returns the number of bits of an element."""
    d = np.dtype(dtype)
    if d == np.bool_:
        return 1
    if issubdtype(d, np.integer):
        return iinfo(d).bits
    return finfo(d).bits if issubdtype(d, np.floating) else 8 * d.itemsize


def check_user_dtype_supported(
    dtype: DTypeLike | ExtendedDType | None, fun_name: str | None = None
) -> None:
    """Warns if an explicitly requested dtype will be narrowed.

    Raises:
      ValueError: instead of the warning, if `jax_explicit_x64_dtypes` is "error".
      TypeError: if arrays cannot have this dtype.
    """
    if dtype is None or is_extended(dtype):
        return
    if isinstance(dtype, type) and dtype in _PYTHON_DTYPES:
        return
    requested = _as_dtype(dtype)
    check_valid_dtype(requested)
    if requested in _NARROWED and not config.x64_enabled() and not config.keeps_wide():
        where = f" in {fun_name}" if fun_name else ""
        if config.explicit_x64_dtypes.value == "error":
            raise ValueError(
                f"Explicitly requested dtype {requested.name}{where} is a 64-bit type, which "
                "requires jax_enable_x64, because jax_explicit_x64_dtypes is 'error'"
            )
        warn(
            f"Explicitly requested dtype {requested.name}{where} becomes {_NARROWED[requested].name}, "
            "because 64-bit types are disabled; enable them with the option jax_enable_x64 or the "
            "environment variable JAX_ENABLE_X64."
        )
