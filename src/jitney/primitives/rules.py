"""Common forms of JVP, transpose and batching rules, which many primitives share.

    defjvp(p, rule, ...)      tangent = sum of rule_i(t_i, *primals, **params)
    defjvp2(p, rule, ...)     the same, with the result: rule_i(t_i, answer, *primals, **params)
    deflinear(p, transpose)   one linear operand
    defbilinear(p, ...)       linear in each of two operands
    vectorized(p)             elementwise on one operand; broadcasting(p) on several

Other primitives are called through `calculus`, so that this module does not depend on their
modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from jitney.core.array import Array
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import revealed
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval, shaped_array
from jitney.primitives import calculus
from jitney.runtime.arrays.array import array_from_numpy
from jitney.transforms import jet, key_words as key_words  # declares a slot
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import TypeIs

    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import (
        BatchDim,
        Cotangent,
        Dims,
        Operand,
        Param,
        Primals,
        SlopeOfOne,
        SlopeOfTwo,
        Tangent,
        Tangents,
        TransposeOfOne,
        Value,
    )

    Slope = Callable[..., Tangent] | None


def is_linear(x: object) -> TypeIs[UndefinedPrimal]:
    """Returns whether a transpose rule must return the cotangent of operand `x`."""
    return type(x) is UndefinedPrimal


def shape_of(x: Operand | Sequence[Any]) -> tuple[int, ...]:
    """Returns the shape of an operand, linear or not."""
    aval = getattr(x, "aval", None)  # arrays, tracers, linear operands
    if aval is not None:
        return aval.shape
    if isinstance(x, np.ndarray | np.generic):
        return x.shape
    if type(x) in _SCALARS:
        return ()
    plain = revealed(x)
    return np.shape(cast("Any", x)) if plain is x else shape_of(plain)


def aval_of(x: Operand) -> AbstractValue:
    """Returns the type of an operand, linear or not."""
    return x.aval if type(x) is UndefinedPrimal else get_aval(x)


_SCALARS = frozenset((bool, int, float, complex))
_PYTHON: dict[str, type[Any]] = {"f": float, "i": int, "c": complex}


def const(like: Operand, value: complex | np.number) -> Value:
    """Returns `value` as a scalar operand with the dtype and weak type of `like`."""
    aval = aval_of(like)
    python = _PYTHON.get(aval.dtype.kind) if aval.weak_type else None
    if python is not None and dtypes.canonicalize_dtype(python) == aval.dtype:
        return python(value)
    return typed(np.asarray(value).astype(aval.dtype))


def factor(like: Operand, value: complex | np.number) -> Value:
    """Returns `value` as a factor with the dtype of `like`.

    If `like` is a scalar, the factor has its weak type. Otherwise, the factor is strongly typed, so
    that derivatives with such factors are strongly typed, as in JAX.
    """
    aval = aval_of(like)
    return typed(np.asarray(value).astype(aval.dtype)) if aval.ndim else const(like, value)


def typed(value: np.ndarray, weak_type: bool = False) -> Value:
    """Returns data as an operand of exactly its dtype: a NumPy array or scalar, if possible.

    NumPy data is narrowed unless x64 is enabled. If 64-bit dtypes are nevertheless allowed, the
    operand is an array of jitney; so is weakly typed 32-bit data if 64-bit dtypes are the default.
    """
    if not dtypes.is_of_scalars(value.dtype, weak_type):
        return array_from_numpy(value, shaped_array(value.shape, value.dtype, weak_type))
    return value.item() if weak_type and value.dtype != np.bool_ else value[()]


def zeros_like(x: Operand) -> Value:
    """Returns zeros with the type of `x`."""
    return Zero(aval_of(x)).instantiate()


def zeros_for(ct: Value, x: Operand, *, strong: bool = False) -> Value:
    """Returns zeros with the cotangent type of `x`, but the dtype of `ct`, which may be wider.

    A user's rule may have widened `ct`. The zeros are strongly typed if the dtypes differ, or if
    `strong`.
    """
    aval, dtype = aval_of(x).to_cotangent_aval(), aval_of(ct).dtype
    if strong or aval.dtype != dtype:
        aval = aval.update(dtype=dtype, weak_type=False)
    return Zero(aval).instantiate()


def zero_tangent(out: Value) -> Zero:
    """Returns the zero tangent of a result."""
    return Zero(get_aval(out).to_tangent_aval())


# --- forward derivatives ------------------------------------------------------------------------


@overload
def defjvp(prim: Primitive, *rules: SlopeOfTwo | None) -> None: ...
@overload
def defjvp(prim: Primitive, *rules: SlopeOfOne | None) -> None: ...
@overload
def defjvp(prim: Primitive, *rules: Callable[[Value, Value, Value], Tangent] | None) -> None: ...
@overload
def defjvp(prim: Primitive, *rules: Callable[[Value, Value], Tangent] | None) -> None: ...
@overload
def defjvp(prim: Primitive, *rules: Slope) -> None: ...
def defjvp(prim: Primitive, *rules: Slope) -> None:
    """Sets the JVP rule of a primitive with one result from a rule for each operand."""

    def derivative(primals: Primals, tangents: Tangents, params: dict[str, Any]) -> Tangent | None:
        total: Tangent | None = None
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and type(t) is not Zero:
                part = rule(t, *primals, **params)
                total = part if total is None else add_tangents(total, part)
        return total

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: Param) -> tuple[Value, Tangent]:
        out = prim.bind(*primals, **params)
        total = derivative(primals, tangents, params)
        return out, zero_tangent(out) if total is None else total

    def of_series(primals: Primals, tangents: Tangents, params: dict[str, Any]) -> Tangent:
        total = derivative(primals, tangents, params)
        return zero_tangent(primals[0]) if total is None else total

    prim.set_default("jet", jet.by_partials(prim, of_series))


@overload
def defjvp2(prim: Primitive, *rules: SlopeOfTwo | None) -> None: ...
@overload
def defjvp2(
    prim: Primitive, *rules: Callable[[Value, Value, Value, Value], Tangent] | None
) -> None: ...
@overload
def defjvp2(prim: Primitive, *rules: Callable[[Value, Value, Value], Tangent] | None) -> None: ...
@overload
def defjvp2(prim: Primitive, *rules: Slope) -> None: ...
def defjvp2(prim: Primitive, *rules: Slope) -> None:
    """Sets the JVP rule like `defjvp`, from rules that take the result, too."""

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: Param) -> tuple[Value, Tangent]:
        out = prim.bind(*primals, **params)
        total: Tangent | None = None
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and type(t) is not Zero:
                part = rule(t, out, *primals, **params)
                total = part if total is None else add_tangents(total, part)
        return out, zero_tangent(out) if total is None else total


def def_zero_derivative(*prims: Primitive) -> None:
    """Sets JVP rules with zero tangents, for step functions, comparisons and integers."""
    for prim in prims:

        @prim.jvp
        def jvp_rule(
            primals: Primals, tangents: Tangents, _prim: Primitive = prim, **params: Param
        ) -> tuple[Value | list[Value], Tangent | list[Tangent]]:
            out = _prim.bind(*primals, **params)
            if _prim.multiple_results:
                return out, [zero_tangent(x) for x in out]
            return out, zero_tangent(out)

        prim.set_default("jet", jet.constant(prim))


@overload
def deflinear(prim: Primitive, transpose: TransposeOfOne) -> None: ...
@overload
def deflinear(prim: Primitive, transpose: Callable[[Value, Operand], Cotangent]) -> None: ...
@overload
def deflinear(prim: Primitive, transpose: Callable[..., Cotangent]) -> None: ...
def deflinear(prim: Primitive, transpose: Callable[..., Cotangent]) -> None:
    """Sets the rules of a primitive that is linear in its only operand.

    `transpose(ct, x, **params)` returns the cotangent of the operand.
    """

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Primals, **params: Param) -> tuple[Value, Tangent]:
        return prim.bind(*primals, **params), prim.bind(*tangents, **params)

    prim.set_default("jet", jet.linear(prim))

    @prim.transpose
    def transpose_rule(ct: Cotangent, x: Operand, **params: Param) -> list[Cotangent | None]:
        return [ct if type(ct) is Zero else transpose(ct, x, **params)]


def def_jointly_linear_jvp(prim: Primitive, n_linear: int | None = None) -> None:
    """Sets the JVP rule of a primitive that is jointly linear in its (first `n_linear`) operands.

    Zero tangents are instantiated.
    """

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, **params: Param
    ) -> tuple[Value | list[Value], Tangent | list[Tangent]]:
        out = prim.bind(*primals, **params)
        n = len(primals) if n_linear is None else n_linear
        if all(type(t) is Zero for t in tangents[:n]):
            if prim.multiple_results:
                return out, [zero_tangent(x) for x in out]
            return out, zero_tangent(out)
        linear_tangents = [instantiate(t) for t in tangents[:n]]
        return out, prim.bind(*linear_tangents, *primals[n:], **params)

    prim.set_default("jet", jet.piecewise_linear(prim))


def defbilinear(
    prim: Primitive, left: Callable[..., Cotangent], right: Callable[..., Cotangent]
) -> None:
    """Sets the rules of a primitive that is linear in each of its two operands.

    `left(ct, x, y, **params)` returns the cotangent of x, and `right` that of y; the linear operand
    is an `UndefinedPrimal`.
    """

    def by_left(t: Value, x: Value, y: Value, **params: Param) -> Value:
        return prim.bind(t, y, **params)

    def by_right(t: Value, x: Value, y: Value, **params: Param) -> Value:
        return prim.bind(x, t, **params)

    defjvp(prim, by_left, by_right)
    prim.jet(jet.bilinear(prim))

    @prim.transpose
    def transpose_rule(
        ct: Cotangent, x: Operand, y: Operand, **params: Param
    ) -> list[Cotangent | None]:
        if type(ct) is Zero:
            return [ct if is_linear(x) else None, ct if is_linear(y) else None]
        if type(x) is UndefinedPrimal:
            if type(y) is UndefinedPrimal:
                raise TypeError(f"{prim}: a product of two linear values is not linear")
            return [left(ct, x, y, **params), None]
        return [None, right(ct, x, y, **params)]


def unbroadcast(x: Operand, ct: Cotangent) -> Cotangent:
    """Sums the cotangent `ct` of a broadcast operand to the operand's shape."""
    if isinstance(ct, Zero):
        return Zero(aval_of(x).to_cotangent_aval())
    shape = x.aval.shape if type(x) is UndefinedPrimal else shape_of(x)
    full = ct.aval.shape if isinstance(ct, Array) else shape_of(ct)
    if shape == full:
        return ct
    axes = tuple(k for k, n in enumerate(full) if not shape or (shape[k] == 1 and n != 1))
    out = calculus.reduce_sum(ct, axes=axes)
    if shape_of(out) == shape:
        return out
    return calculus.reshape(out, new_sizes=shape)


def broadcast_to_result(t: Value, shape: tuple[int, ...]) -> Value:
    """Broadcasts the tangent of an operand to `shape`, the shape of the result.

    The operand is a scalar, or has the rank of the result and size 1 along broadcast axes.
    """
    old = shape_of(t)
    if old == shape:
        return t
    dims = () if not old else tuple(range(len(shape)))
    return calculus.broadcast_in_dim(t, shape=shape, broadcast_dimensions=dims)


# --- batching -----------------------------------------------------------------------------------


def vectorized(*prims: Primitive) -> None:
    """Sets the batching rule of elementwise primitives with one operand."""
    for prim in prims:

        @prim.batch
        def batch_rule(
            args: Sequence[Value], dims: Dims, _prim: Primitive = prim, **params: Param
        ) -> tuple[Value, BatchDim]:
            return _prim.bind(*args, **params), dims[0]


def move_axis(x: Value, source: int, destination: int) -> Value:
    """Moves one axis of `x`."""
    rank = len(shape_of(x))
    source, destination = source % rank, destination % rank
    if source == destination:
        return x
    order = [k for k in range(rank) if k != source]
    order.insert(destination, source)
    return calculus.transpose(x, permutation=tuple(order))


def insert_axes(x: Value, positions: tuple[int, ...]) -> Value:
    """Inserts axes of size 1 into `x`, at `positions` of the result."""
    shape = shape_of(x)
    rank = len(shape) + len(positions)
    kept = tuple(k for k in range(rank) if k not in positions)
    full = [1] * rank
    for k, n in zip(kept, shape, strict=True):
        full[k] = n
    return calculus.broadcast_in_dim(
        x, shape=tuple(full), broadcast_dimensions=tuple(map(np.int64, kept))
    )


def broadcasting(*prims: Primitive) -> None:
    """Sets the batching rule of elementwise primitives with operands of equal rank or scalars."""
    for prim in prims:

        @prim.batch
        def batch_rule(
            args: Sequence[Value], dims: Dims, _prim: Primitive = prim, **params: Param
        ) -> tuple[Value, BatchDim]:
            args, dim = align(args, dims)
            return _prim.bind(*args, **params), dim


def align(args: Sequence[Value], dims: Dims) -> tuple[list[Value], int]:
    """Moves all batch axes to the same position, and makes the ranks of non-scalars equal.

    Returns: a pair (operands, position of the batch axis).
    """
    mapped = [(x, d) for x, d in zip(args, dims, strict=True) if d is not None]
    shapes = {(shape_of(x), d) for x, d in mapped}
    others = [x for x, d in zip(args, dims, strict=True) if d is None]
    if len(shapes) == 1 and all(not shape_of(x) for x in others):
        return list(args), mapped[0][1]
    ranks = [len(shape_of(x)) - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    moved = [
        move_axis(x, d, 0) if d is not None else insert_axes(x, (0,)) if r else x
        for x, d, r in zip(args, dims, ranks, strict=True)
    ]
    out = [  # batched operands of lower rank are extended to the rank of the others
        _widen(x, rank - r) if d is not None and r < rank else x
        for x, d, r in zip(moved, dims, ranks, strict=True)
    ]
    return out, 0


def _widen(x: Value, n: int) -> Value:
    """Inserts `n` axes of size 1 into `x` after the first axis."""
    shape = shape_of(x)
    full = (*shape[:1], *(1,) * n, *shape[1:])
    kept = (0, *range(n + 1, len(full)))
    return calculus.broadcast_in_dim(x, shape=full, broadcast_dimensions=kept)


def to_front(x: Value, dim: int | None, size: int) -> Value:
    """Moves the batch axis of `x` to the front, or broadcasts `x` along a new batch axis."""
    if dim is not None:
        return move_axis(x, dim, 0)
    shape = shape_of(x)
    kept = tuple(map(np.int64, range(1, len(shape) + 1)))
    return calculus.broadcast_in_dim(x, shape=(size, *shape), broadcast_dimensions=kept)


def batch_size(args: Sequence[Value], dims: Dims) -> int:
    """Returns the size of the batch axis."""
    return next(shape_of(x)[d] for x, d in zip(args, dims, strict=True) if d is not None)


def shifted_axes(axes: Sequence[int], dim: int) -> tuple[np.int64, ...]:
    """Converts axis numbers of an unbatched operand to those of the operand with a batch axis."""
    return tuple(np.int64(a + (a >= dim)) for a in axes)


def reducer(*prims: Primitive) -> None:
    """Sets the batching rule of reductions over the parameter `axes`."""
    for prim in prims:

        @prim.batch
        def batch_rule(
            args: Sequence[Value], dims: Sequence[int], _prim: Primitive = prim, **params: Param
        ) -> tuple[Value, int | np.integer]:
            (x,), (d,) = args, dims
            axes = shifted_axes(params.pop("axes"), d)
            position = d - sum(a < d for a in axes)
            place = params.get("out_sharding")
            if place is not None:
                names = explicit.names_along(aval_of(x), d)
                params["out_sharding"] = explicit.batched(place, int(position), names)
            return _prim.bind(x, axes=axes, **params), position


def is_float0(aval: AbstractValue) -> bool:
    """Returns whether a type is that of the tangents of integers and booleans."""
    return aval.dtype == dtypes.float0
