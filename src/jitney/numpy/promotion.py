"""Checks and promotion of the operands of the functions of `jax.numpy`.

Dtypes are promoted according to JAX's lattice, in which Python scalars are weakly typed. As in
NumPy, leading axes are prepended to operands of lower rank. Operands that need no change are
returned unchanged. Python and NumPy scalars remain scalars, of the common dtype, and become
literals of jaxprs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.program.jaxpr import Literal
from jitney.core.settings import config
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval, is_valid_operand
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_shapes, broadcast_to
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import as_value, convert_element_type_p, scalar_operand
from jitney.primitives.elementwise.families import unlike_shapes

if TYPE_CHECKING:
    from jitney.core.typing import Value

# Arrays are promoted to arrays.
V = TypeVar("V", "Array", "Value")

# The exact types of scalar operands.
SCALARS: frozenset[type] = frozenset((bool, int, float, complex, *dtypes.numpy_scalar_types))


def check_arraylike(name: str, *operands: object) -> None:
    """Raises TypeError unless all operands are arrays or scalars (lists are not)."""
    for i, x in enumerate(operands):
        if not isinstance(x, Array | np.ndarray) and not is_valid_operand(x):
            raise TypeError(
                f"{messages.subject(name)}: operands must be arrays or scalars, but the one at "
                f"position {i} is of {type(x)}; convert lists and tuples with jnp.asarray"
            )


def check_no_out(name: str, out: object) -> None:
    """Raises NotImplementedError if an `out` argument was passed."""
    if out is not None:
        raise NotImplementedError(
            f"jnp.{name}: `out` must be None, as arrays are immutable; the result is a new array"
        )


def type_of(x: ArrayLike) -> tuple[np.dtype, bool]:
    """Returns the dtype and the weak type of an operand."""
    aval = x.aval if isinstance(x, Array) else get_aval(x)
    return aval.dtype, aval.weak_type


def strong_scalar_like(x: ArrayLike, value: ArrayLike) -> Value:
    """Returns `value` as a strongly typed scalar of the dtype of `x`."""
    return scalar_operand(value, dtype_of(x), False)


def scalar_like(x: ArrayLike, value: ArrayLike) -> Any:
    """Returns `value` as a scalar of the dtype of `x`, weakly typed if `x` is a weak scalar."""
    dtype, weak = type_of(x)
    return scalar_operand(value, dtype, weak and shape_of(x) == ())


def as_type(x: V, dtype: np.dtype[Any], weak_type: bool) -> V:
    """Converts operand `x` to a dtype and weak type; scalars remain scalars."""
    scalar: Any
    if type(x) in SCALARS:
        scalar = scalar_operand(x, dtype, weak_type)
        return scalar
    aval = x.aval if isinstance(x, Array) else get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if aval.dtype == dtype and aval.weak_type and isinstance(x, np.ndarray):
        return x
    atom = getattr(x, "atom", None)
    if type(atom) is Literal:  # a constant of the jaxpr is converted while tracing
        scalar = scalar_operand(atom.val[()], dtype, weak_type)
        return scalar
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


# --- dtypes -----------------------------------------------------------------------------------

_WEAK_BOOL = (np.dtype(bool), True)  # the type of comparisons of Python scalars; see `common_type`


def promote_dtypes(*operands: V) -> list[V]:
    """Converts operands to their common dtype."""
    types = tuple([type_of(x) for x in operands])
    first = types[0]
    if types.count(first) == len(types) and (first != _WEAK_BOOL or len(types) == 1):
        return list(operands)
    dtype, weak = dtypes.common_type(types)
    return [as_type(x, dtype, weak) for x in operands]


def to_inexact(dtype: DTypeLike) -> np.dtype:
    """Returns the float or complex dtype for elements of `dtype`; see `dtypes.to_inexact_dtype`."""
    return dtypes.to_inexact_dtype(dtype)


def promote_dtypes_inexact(*operands: V) -> list[V]:
    """Converts operands to their common dtype, or to a float dtype if it is not inexact."""
    dtype, weak = dtypes.common_type(tuple([type_of(x) for x in operands]))
    dtype = to_inexact(dtype)
    return [as_type(x, dtype, weak) for x in operands]


def promote_dtypes_numeric(*operands: V) -> list[V]:
    """Converts operands to their common dtype, or to int32 if that is bool."""
    dtype, weak = dtypes.common_type(tuple([type_of(x) for x in operands]))
    if dtype == np.bool_:
        dtype = np.dtype(np.int32)
    return [as_type(x, dtype, weak) for x in operands]


# --- shapes -----------------------------------------------------------------------------------


def promote_shapes(name: str, *operands: V) -> list[V]:
    """Prepends axes of size 1 to operands of lower rank; scalars are unchanged.

    The operands are passed by users, so this warns or raises ValueError as
    `jax_numpy_rank_promotion` specifies.
    """
    shapes = [shape_of(x) for x in operands]
    if len({len(s) for s in shapes if s}) <= 1:
        return list(operands)
    if config.numpy_rank_promotion_mode() != "allow":
        rank_promotion_warning(name, [s for s in shapes if s])
    return align_ranks(name, *operands)


def align_ranks(name: str, *operands: V) -> list[V]:
    """Does the same as `promote_shapes` for internal operands, without a warning or an error."""
    shapes = [shape_of(x) for x in operands]
    ranks = {len(s) for s in shapes if s}
    if len(ranks) <= 1:
        return list(operands)
    rank = max(ranks)
    _check_broadcast(name, operands, shapes)
    out: list[Any] = [
        broadcast_in_dim(x, (1,) * (rank - len(s)) + s, tuple(range(rank - len(s), rank)))
        if s and len(s) < rank
        else x
        for x, s in zip(operands, shapes, strict=True)
    ]
    return out


def _check_broadcast(name: str, operands: Sequence[Any], shapes: Sequence[Any]) -> None:
    """Raises ValueError, with the name of the operation, unless operands of `shapes` broadcast."""
    try:
        broadcast_shapes(*shapes)
    except ValueError:
        avals: list[Any] = [get_aval(x) for x in operands]
        raise ValueError(unlike_shapes(name, avals)) from None


def rank_promotion_warning(name: str, shapes: Sequence[Any]) -> None:
    """Warns or raises ValueError about different ranks, as `jax_numpy_rank_promotion` specifies."""
    listed = " ".join(str(s) for s in shapes)
    about = "The rules are at https://docs.jax.dev/en/latest/rank_promotion_warning.html."
    if config.numpy_rank_promotion_mode() == "raise":
        raise ValueError(
            f"{name}: operands other than scalars must have the same rank, as "
            f"jax_numpy_rank_promotion is 'raise', but their shapes are {listed}; use x[None] to "
            f"add an axis. {about}"
        )

    warn(
        f"{name}: operands of shapes {listed} differ in rank, and are broadcast as in NumPy. "
        f"Use x[None] to add an axis, or jax_numpy_rank_promotion='allow' to disable this "
        f"warning. {about}"
    )


# --- both -------------------------------------------------------------------------------------


def _promoted(promote: Callable[..., list[V]], name: str, operands: Sequence[V]) -> list[V]:
    """Checks operands, promotes them with `promote`, and aligns the ranks of all but scalars."""
    check_arraylike(name, *operands)
    try:
        promoted = promote(*operands)
    except (dtypes.TypePromotionError, ValueError):
        if any(dtype_of(x) == dtypes.float0 for x in operands):
            raise dtypes.float0_error(name) from None
        if any(dtypes.is_extended(dtype_of(x)) for x in operands):
            names = ", ".join(dtypes.long_name(dtype_of(x)) for x in operands)
            raise TypeError(f"{name}: operands of dtypes {names} cannot be combined") from None
        raise
    return promote_shapes(name, *promoted)


def promote_args(name: str, *operands: V) -> list[V]:
    """Checks operands and promotes them to a common dtype and (except scalars) a common rank."""
    return _promoted(promote_dtypes, name, operands)


def promote_args_inexact(name: str, *operands: V) -> list[V]:
    """Promotes operands like `promote_args`, but to a float or complex dtype."""
    return _promoted(promote_dtypes_inexact, name, operands)


def promote_args_numeric(name: str, *operands: V) -> list[V]:
    """Promotes operands like `promote_args`, but to int32 if their common dtype is bool."""
    return _promoted(promote_dtypes_numeric, name, operands)


@overload
def ensure_arraylike(name: str, operand: ArrayLike, /) -> Array: ...


@overload
def ensure_arraylike(
    name: str, first: ArrayLike, second: ArrayLike, /, *operands: ArrayLike
) -> list[Array]: ...


def ensure_arraylike(name: str, *operands: ArrayLike) -> Array | list[Array]:
    """Checks operands and returns them as arrays or tracers: one, or a list of several."""
    check_arraylike(name, *operands)
    values = [as_value(x) for x in operands]
    return values[0] if len(values) == 1 else values


def broadcast_arrays(*operands: ArrayLike) -> tuple[Array, ...]:
    """Broadcasts operands to their common shape."""
    shape = broadcast_shapes(*[shape_of(x) for x in operands]) if operands else ()
    return tuple([broadcast_to(x, shape) for x in operands])


def stretched(name: str, *operands: ArrayLike) -> tuple[Array, ...]:
    """Broadcasts the operands of an elementwise function to their common shape.

    Raises:
      ValueError: if the ranks differ and the shapes do not broadcast.
      TypeError: if the ranks are equal and the shapes do not broadcast.
    """
    aligned = promote_shapes(name, *operands)
    try:
        return broadcast_arrays(*aligned)
    except ValueError:
        avals: list[Any] = [get_aval(x) for x in operands]
        raise TypeError(unlike_shapes(name, avals)) from None


def dtype_of(x: ArrayLike) -> np.dtype:
    """Returns the canonical dtype of an operand."""
    return type_of(x)[0]


def is_complex(dtype: DTypeLike) -> bool:
    """Returns whether `dtype` is complex."""
    return dtypes.issubdtype(dtype, np.complexfloating)


def is_inexact(dtype: DTypeLike) -> bool:
    """Returns whether `dtype` is floating or complex."""
    return dtypes.issubdtype(dtype, np.inexact)


def is_integer(dtype: DTypeLike) -> bool:
    """Returns whether `dtype` is an integer dtype."""
    return dtypes.issubdtype(dtype, np.integer)


def is_floating(dtype: DTypeLike) -> bool:
    """Returns whether `dtype` is floating."""
    return dtypes.issubdtype(dtype, np.floating)
