"""Conversions of dtypes, bit patterns and float precision, and of Python scalars to operands.

Other modules call `convert`, which returns values unchanged if they already have the requested
type, and converts Python and NumPy scalars to constants without recording an operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast, overload

import numpy as np

from jitney.compiler import reference
from jitney.core.array import Array
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn, Literal
from jitney.core.program.key_reuse import uses_keys
from jitney.core.pytree import pytrees
from jitney.core.source.user_warnings import warn
from jitney.core.symbolic.expressions import DimExpr
from jitney.core.tracing.hi_types import is_high_value
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import plain_types, revealed, state
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.core.types.extended_dtypes import PrimalTangentDType
from jitney.core.types.refs import is_ref
from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.elementwise import edtypes, families, masks
from jitney.runtime.execution.eager import owned
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import ArrayLike, DTypeLike
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

_Tree = TypeVar("_Tree")  # a pytree of arrays

# --- convert_element_type ---------------------------------------------------------------------

convert_element_type_p = declare("convert_element_type", linear=True)


@convert_element_type_p.abstract
def _convert_element_type_abstract(
    x: ShapedArray, *, new_dtype: DType, weak_type: bool, sharding: object
) -> ShapedArray:
    if dtypes.is_extended(x.dtype) != dtypes.is_extended(new_dtype) or (
        dtypes.is_extended(new_dtype) and x.dtype != new_dtype
    ):
        raise ValueError(
            f"Cannot convert_element_type from {dtypes.long_name(x.dtype)} to "
            f"{dtypes.long_name(new_dtype)}: use jax.random.key_data and wrap_key_data for keys"
        )
    return shaped_array(x.shape, new_dtype, weak_type)


@convert_element_type_p.eager
def _convert_element_type_eager(
    x: np.ndarray, *, new_dtype: DType, weak_type: bool, sharding: object
) -> np.ndarray:
    if dtypes.is_extended(new_dtype):
        return x
    converted = reference.scalar.convert(x, new_dtype)
    return (
        masks.note(converted, x)
        if x.dtype == masks.BOOL and masks.local.noted is not None
        else converted
    )


@convert_element_type_p.lower
def _convert_element_type_lower(
    b: Builder, x: Node, *, new_dtype: DType, weak_type: bool, sharding: object
) -> Node:
    if dtypes.is_extended(new_dtype):
        return x
    converted = b.convert(x, new_dtype)
    return masks.note_node(b, converted, x) if x.dtype == masks.BOOL else converted


def _print_convert(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    shown = [(k, v) for k, v in sorted(eqn.params.items()) if k != "sharding" or v is not None]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["convert_element_type"] = _print_convert


_OPERANDS: tuple[type[Any], ...] = (Array, np.ndarray, np.generic, bool, int, float, complex)


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Converts `operand` to `new_dtype` elementwise; the result is never weakly typed.

    Floats that are converted to integers are truncated and clamped to the range of the dtype; NaN
    becomes 0. Integers that are converted to narrower integers wrap.

    Args:
      operand: array or scalar.
      new_dtype: dtype of the result; 64-bit dtypes are narrowed unless x64 is enabled.

    Returns: array of the shape of `operand`.

    Raises:
      TypeError: if `operand` is a Python complex number and `new_dtype` is a real dtype.
      ValueError: if one of the dtypes is a key dtype.

    Warns:
      ComplexWarning: if imaginary parts are dropped.

    Example:
      >>> lax.convert_element_type(jnp.array([1.7, -1.7, 300.0]), jnp.int8)
      Array([  1,  -1, 127], dtype=int8)
    """
    if not isinstance(operand, _OPERANDS):
        families.check_operands("convert_element_type", operand)
    dtype = user_dtype(new_dtype, "convert_element_type")
    if type(operand) is int and dtypes.issubdtype(dtype, np.integer):
        # Wraps from 64 bits, even if 64-bit dtypes are not enabled.
        return as_value(np.asarray(operand).astype(dtype)[()])
    refuse_complex_scalar(operand, dtype, "convert_element_type")
    warn_if_imaginary_dropped(dtypes.dtype(operand), dtype)
    # A scalar must become an array first, since `convert` would use it as the words of a key.
    return convert(as_value(operand) if dtypes.is_extended(dtype) else operand, dtype)


def user_dtype(dtype: DTypeLike | dtypes.ExtendedDType, function: str) -> np.dtype[Any]:
    """Returns a user's dtype in canonical form; warns if that narrows a 64-bit dtype."""
    if not dtypes.is_extended(dtype):
        dtypes.check_user_dtype_supported(dtype, function)
    return dtypes.requested_dtype(dtype)


def refuse_complex_scalar(x: Value, dtype: DType, function: str) -> None:
    """Raises TypeError if `x` is a Python complex number and `dtype` is an integer or float dtype.

    For integer dtypes, NaN is accepted even if it is complex, as it is converted to 0.
    """
    if type(x) is complex and not (
        dtypes.is_extended(dtype)
        or dtype == families.BOOL
        or dtypes.issubdtype(dtype, np.complexfloating)
        or (x != x and dtypes.issubdtype(dtype, np.integer))
    ):
        raise not_real(x, dtype, function)


def not_real(x: Value, dtype: DType, function: str) -> TypeError:
    """Returns the error for a complex number `x` if a real `dtype` is required."""
    return TypeError(
        f"{function}: dtype {dtype} requires a real number, but the value is the complex number "
        f"{x}; use its real part (`.real`)"
    )


def warn_if_imaginary_dropped(old: DType, new: DType) -> None:
    """Warns if a conversion from `old` to `new` drops imaginary parts."""
    if (
        not dtypes.is_extended(new)
        and dtypes.issubdtype(old, np.complexfloating)
        and not dtypes.issubdtype(new, np.complexfloating)
    ):
        warn(
            "The conversion from a complex to a real dtype drops the imaginary parts; use x.real "
            "to do so explicitly",
            np.exceptions.ComplexWarning,
        )


def convert(x: Value, dtype: DType, weak_type: bool = False) -> Array:
    """Converts `x` to an array or tracer of canonical `dtype` and the given weak type."""
    kind = type(x)
    if kind is bool or kind is int or kind is float or kind is complex or isinstance(x, np.generic):
        if isinstance(dtype, dtypes.KeyDType):
            return _key_of(x, dtype)
        x = as_value(scalar_operand(x, dtype, weak_type))
        if not weak_type or dtype != families.BOOL:
            return x  # Python bools are never weakly typed
    aval = get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x if isinstance(x, Array) else as_value(x)
    atom = getattr(x, "atom", None)
    is_weak_bool = weak_type and dtype == families.BOOL
    if type(atom) is Literal and dtypes.is_of_scalars(dtype, weak_type) and not is_weak_bool:
        # A literal of the program is converted immediately.
        return as_value(scalar_operand(atom.val[()], dtype, weak_type))
    if PrimalTangentDType in (type(dtype), type(aval.dtype)):
        return edtypes.convert(as_value(x), dtype)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _key_of(x: Any, dtype: dtypes.KeyDType) -> Array:
    """Returns the key all of whose words equal `x`, for arrays filled with keys."""
    words = np.full(dtype.impl.key_shape, x, np.uint32)
    return calculus.random_wrap(words, impl=dtype.impl)


@overload
def scalar_operand(x: DimExpr, dtype: DType, weak_type: bool) -> Array: ...
@overload
def scalar_operand(x: Value, dtype: DType, weak_type: bool) -> Value: ...
def scalar_operand(x: Value | DimExpr, dtype: DType, weak_type: bool) -> Value:
    """Converts a Python or NumPy scalar to a scalar operand of `dtype` and weak type.

    Weakly typed operands are Python scalars and other operands are NumPy scalars, if such scalars
    can have the type (`dtypes.is_of_scalars`). Equal scalars are usually the same object, so that
    traces can recognize them by identity.
    """
    if type(x) is DimExpr:
        return convert(x.dimension_as_value(), dtype, weak_type)
    if not dtypes.is_of_scalars(dtype, weak_type):
        return rules.typed(np.asarray(_make_scalar(x, dtype, False)), weak_type)
    key = (type(x), x, dtype, weak_type)
    # Zeros other than int zeros are not cached: 0.0 and -0.0 are equal, so their keys would be, too.
    is_kept = bool(x == x and (x or type(x) is int))
    try:
        known = _scalars.get(key) if is_kept else None
    except TypeError:
        known = None
    if known is not None:
        return known
    scalar = _make_scalar(x, dtype, weak_type)
    if is_kept:
        if len(_scalars) >= _SCALARS_LIMIT:
            _scalars.clear()
        _scalars[key] = scalar
    return scalar


_scalars: dict[Any, Any] = {}
_SCALARS_LIMIT = threshold(4096, small=8)  # number of cached scalars


def _make_scalar(x: Value | DimExpr, dtype: Any, weak_type: bool) -> Value:
    if type(x) is int and dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        if not info.min <= x <= info.max:
            # Values in the range of the default integer dtype wrap to narrower dtypes.
            value = np.asarray(x, get_aval(x).dtype).astype(dtype)
        else:
            value = np.asarray(x).astype(dtype)
    else:
        with float_errors.ignored():  # overflow results in infinity, as in all operations
            value = reference.scalar.convert(np.asarray(float(x) if type(x) is int else x), dtype)
    return value.item() if weak_type and dtype != families.BOOL else value[()]


_HOST_TYPES = frozenset((bool, int, float, complex, np.ndarray))


def as_value(x: Value | np.generic) -> Array:
    """Converts an operand to an array, or to a tracer of the current trace."""
    if isinstance(x, Array):
        return x
    if type(x) not in plain_types:
        x = revealed(x)  # the result may be a tracer of the current trace
        if isinstance(x, Array):
            return x
    trace = state.trace
    if trace is not state.eval_trace:
        x = trace.pure(x)
        if isinstance(x, Array):
            return x
    if type(x) not in _HOST_TYPES and (is_ref(x) or is_high_value(x)):
        return cast("Array", x)  # wherever arrays are accepted, so are references and high values
    # Also under derivatives and batching, values without tracers become arrays of jitney, which no
    # user can modify.
    return owned(x)


def owned_results(result: _Tree) -> _Tree:
    """Replaces NumPy arrays in the result of a user's function, a pytree, by arrays of jitney.

    The function may have returned its arguments, to which the caller can still write.
    """
    if isinstance(result, Array):
        return result

    def own(x: Value) -> Value:
        return owned(x) if _is_numpy_operand(x) else x

    return pytrees.tree_map(own, result)


def _is_numpy_operand(x: Value) -> TypeGuard[np.ndarray]:
    return isinstance(x, np.ndarray) and x.dtype.type in dtypes.numpy_scalar_types


# --- bitcast ----------------------------------------------------------------------------------

bitcast_convert_type_p = declare("bitcast_convert_type")
bitcast_convert_type_p.sharding(sharding_rules.bitcast_convert_type)


@bitcast_convert_type_p.abstract
def _bitcast_convert_type_abstract(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if (
        x.dtype != new_dtype
        and any(
            dtypes.issubdtype(d, k)
            for d in (x.dtype, new_dtype)
            for k in (np.bool_, np.complexfloating)
        )
        and (families.BOOL in (x.dtype, new_dtype) or old == new)
    ):
        raise TypeError(
            "lax.bitcast_convert_type: booleans and complex elements can only be bitcast to their "
            f"own dtype, but got dtype={dtypes.long_name(x.dtype)} and {new_dtype=}; use x.view() to "
            "split complex elements"
        )
    if old == new:
        shape = x.shape
    elif old > new:
        shape = (*x.shape, old // new)
    else:
        last = x.shape[-1] if x.shape else 1
        if not x.shape or last * old != new:
            raise ValueError(
                f"bitcast_convert_type: cannot convert array of shape {x.shape} from "
                f"{dtypes.long_name(x.dtype)} of {old} bits to {dtypes.long_name(new_dtype)} of "
                f"{new} bits: {last} * {old} != {new}"
            )
        shape = x.shape[:-1]
    return shaped_array(shape, new_dtype, False)


@bitcast_convert_type_p.eager
def _bitcast_convert_type_eager(x: np.ndarray, *, new_dtype: np.dtype) -> np.ndarray:
    return reference.bitcast_bits(x, new_dtype)


@bitcast_convert_type_p.lower
def _bitcast_convert_type_lower(b: Builder, x: Node, *, new_dtype: np.dtype) -> Node:
    from jitney.compiler.hlo import sub_bytes  # imported late, since it imports the compiler

    return sub_bytes.bitcast(b, x, np.dtype(new_dtype))


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterprets the bits of `operand` as `new_dtype`.

    Conversion to a narrower dtype splits each element along a new last axis, with the least
    significant part first. Conversion to a wider dtype joins elements along the last axis.

    Args:
      operand: array or scalar.
      new_dtype: dtype of the result.

    Returns: array with the shape of `operand`, except for this last axis.

    Raises:
      TypeError: if one of the dtypes is boolean and the other is not, or if one is complex and the
        other is real and has the same width.
      ValueError: if `new_dtype` is wider and the size of the last axis is not the ratio of the
        widths.

    Example:
      >>> lax.bitcast_convert_type(jnp.float32(1.0), jnp.uint32)
      Array(1065353216, dtype=uint32)
    """
    return bitcast_convert_type_p.bind(
        operand, new_dtype=user_dtype(new_dtype, "bitcast_convert_type")
    )


# --- reduce_precision ---------------------------------------------------------------------------

reduce_precision_p = declare("reduce_precision", linear=True)


@reduce_precision_p.abstract
def _reduce_precision_abstract(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    families.check_dtype("reduce_precision", x.dtype, families.FLOAT)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            "reduce_precision: `exponent_bits` must be at least 1 and `mantissa_bits` at least 0, but "
            f"they are {exponent_bits} and {mantissa_bits}"
        )
    return x


@reduce_precision_p.eager
def _reduce_precision_eager(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    return reference.reduce_precision(x, exponent_bits, mantissa_bits)


@reduce_precision_p.lower
def _reduce_precision_lower(b: Builder, x: Node, *, exponent_bits: int, mantissa_bits: int) -> Node:
    return b.reduce_precision(x, exponent_bits, mantissa_bits)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds `operand` to a floating-point format with the given widths of exponent and mantissa.

    Args:
      operand: floating array.
      exponent_bits: width of the exponent, at least 1. Numbers beyond its range become infinite.
      mantissa_bits: width of the mantissa without its implicit leading bit, at least 0.

    Returns: array of the shape and dtype of `operand`.

    Example:
      >>> lax.reduce_precision(jnp.float32(3.14159), exponent_bits=8, mantissa_bits=7)
      Array(3.140625, dtype=float32)
    """
    return reduce_precision_p.bind(
        operand, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits)
    )


# --- derivatives and batching ---------------------------------------------------------------------


@convert_element_type_p.jvp
def _convert_element_type_jvp(
    primals: Primals, tangents: Tangents, *, new_dtype: DType, weak_type: bool, sharding: object
) -> tuple[Value, Tangent]:
    (x,), (t,) = primals, tangents
    out = convert_element_type_p.bind(
        x, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding
    )
    target = rules.zero_tangent(out)
    if isinstance(t, Zero) or rules.is_float0(target.aval) or rules.is_float0(rules.aval_of(t)):
        return out, target
    return out, convert_element_type_p.bind(
        t, new_dtype=new_dtype, weak_type=weak_type, sharding=sharding
    )


@convert_element_type_p.jet
def _convert_element_type_jet(
    primals: Primals, series: Sequence[Tangents], **params: Any
) -> tuple[Value | Sequence[Value], jet.Terms | Sequence[jet.Terms]]:
    is_inexact = dtypes.issubdtype(params["new_dtype"], np.inexact)
    rule = jet.linear if is_inexact else jet.constant
    return rule(convert_element_type_p)(primals, series, **params)


@convert_element_type_p.transpose
def _convert_element_type_transpose(
    ct: Cotangent, x: Operand, *, new_dtype: DType, weak_type: bool, sharding: object
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None]
    aval = rules.aval_of(x)
    return [
        convert_element_type_p.bind(
            ct, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
        )
    ]


rules.vectorized(convert_element_type_p, reduce_precision_p)
rules.def_zero_derivative(bitcast_convert_type_p)
bitcast_convert_type_p.absent("transpose", why="not linear")


@bitcast_convert_type_p.batch
def _bitcast_convert_type_batch(
    args: Primals, dims: Sequence[int], *, new_dtype: np.dtype
) -> tuple[Value, BatchDim]:
    x = rules.move_axis(args[0], dims[0], 0)
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), 0


rules.deflinear(reduce_precision_p, lambda ct, x, **params: reduce_precision_p.bind(ct, **params))

uses_keys(convert_element_type_p, forwards=True)
