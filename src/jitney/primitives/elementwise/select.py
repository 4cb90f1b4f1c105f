"""Selection between values: `select_n`, `clamp`, and `round`, whose method is a parameter."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler import reference
from jitney.core.messages import messages
from jitney.core.sharding_in_types import sums
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.thresholds import threshold
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.elementwise import families
from jitney.runtime.arrays import host_path
from jitney.transforms import jet
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

# --- select_n ---------------------------------------------------------------------------------

select_n_p = declare("select_n")
select_n_p.linearity = sums.SELECTION

_LARGE = threshold(512, small=8)  # elements above which compiled code is faster than NumPy


_NO_CASES = "select_n: at least one case is required"


@select_n_p.abstract
def _select_n_abstract(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ValueError(_NO_CASES)
    first = cases[0]
    if which.dtype != families.BOOL and not dtypes.issubdtype(which.dtype, np.integer):
        raise TypeError(
            "select_n: `which` must contain booleans or integers, but is "
            f"{dtypes.long_name(which.dtype)}"
        )
    if which.dtype == families.BOOL and len(cases) > 2:
        raise TypeError(
            f"select_n: booleans choose between two cases, but {messages.there_are(len(cases))}; "
            "pass integers as `which`"
        )
    if any(c.shape != first.shape for c in cases):
        raise TypeError(
            "select_n: all cases must have the same shape, but have "
            f"[{', '.join(str(c.shape) for c in cases)}]"
        )
    if which.shape and which.shape != first.shape:
        raise TypeError(
            f"select_n: `which` must be a scalar or have the shape of the cases, {first.shape}, but "
            f"has shape {which.shape}"
        )
    families.check_same_dtypes("select", cases)
    return shaped_array(first.shape, first.dtype, all(c.weak_type for c in cases))


@select_n_p.eager
def _select_n_eager(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if which.dtype == families.BOOL:
        if which.size > _LARGE and which.shape == cases[0].shape:
            chosen = host_path.threads().select(which, cases[-1], cases[0])
            if chosen is not None:
                return chosen
        return np.where(which, cases[-1], cases[0])
    return reference.select_n(which, *cases)


@select_n_p.lower
def _select_n_lower(b: Builder, which: Node, *cases: Node) -> Node:
    shape = cases[0].shape
    result = cases[0]
    if which.dtype == families.BOOL:
        if len(cases) == 1:
            return result
        return b.apply("select", families.stretch(b, which, shape), cases[1], cases[0])
    # An index out of range selects the nearest case, as in the eager rule.
    for i, case in enumerate(cases[1:], start=1):
        bound = b.full(which.shape, i, which.dtype)
        chosen = b.apply("ge", which, bound)
        result = b.apply("select", families.stretch(b, chosen, shape), case, result)
    return result


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Selects elementwise from `cases` by index: element i comes from `cases[which[i]]`.

    Args:
      which: int32 array, or for at most two cases a boolean array, in which False is 0 and True is
        1. It is a scalar or has the shape of the cases.
      *cases: arrays of the same shape and dtype.

    Returns: array with the shape and dtype of the cases. If an index is out of range, the selected
      case is unspecified.

    Raises:
      TypeError: if shapes or dtypes are incompatible.
      ValueError: if there are no cases.

    Example:
      >>> cases = jnp.array([1, 2, 3]), jnp.array([4, 5, 6]), jnp.array([7, 8, 9])
      >>> lax.select_n(jnp.array([0, 2, 1]), *cases)
      Array([1, 8, 6], dtype=int32)
    """
    if not cases:
        raise ValueError(_NO_CASES)
    return select_n_p.bind(which, *cases)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Selects elements of `on_true` where `pred` is true, and of `on_false` elsewhere.

    Args:
      pred: boolean array with the shape of the other operands, or a boolean scalar.
      on_true: array.
      on_false: array with the shape and dtype of `on_true`. (`jnp.where` broadcasts and promotes.)

    Returns: array of the shape and dtype of `on_true`.

    Raises:
      TypeError: if shapes or dtypes are incompatible.

    Example:
      >>> x = jnp.array([-1.0, 2.0, -3.0])
      >>> lax.select(x > 0, x, jnp.zeros_like(x))
      Array([0., 2., 0.], dtype=float32)
    """
    return select_n_p.bind(pred, on_false, on_true)


# --- clamp ------------------------------------------------------------------------------------

clamp_p = declare("clamp")
clamp_p.sharding(sharding_rules.as_operand(1))


@clamp_p.abstract
def _clamp_abstract(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    for i, aval in enumerate((low, x, high)):
        families.check_dtype("clamp", aval.dtype, families.NOT_KEYS, i)
    families.check_same_dtypes("clamp", (low, x, high))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape and bound.shape != x.shape:
            raise TypeError(
                f"clamp: `{name}` must be a scalar or have the shape of `x`, {x.shape}, but has shape "
                f"{bound.shape}"
            )
    return shaped_array(x.shape, x.dtype, low.weak_type and x.weak_type and high.weak_type)


@clamp_p.eager
def _clamp_eager(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    return reference.clamp(low, x, high)


@clamp_p.lower
def _clamp_lower(b: Builder, low: Node, x: Node, high: Node) -> Node:
    low, high = families.stretch(b, low, x.shape), families.stretch(b, high, x.shape)
    if x.dtype.kind != "c":
        return b.apply("min", b.apply("max", low, x), high)

    def is_at_most(y: Node, z: Node) -> Node:
        return b.apply("le", b.apply("real", y), b.apply("real", z))

    x = b.apply("select", is_at_most(x, low), low, x)
    return b.apply("select", is_at_most(x, high), x, high)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:  # noqa: A002
    """Clamps the elements of `x` to the interval from `min` to `max`.

    Args:
      min: lower bounds, an array with the shape and dtype of x, or a scalar.
      x: array. For complex dtypes, only real parts are compared, and NaN becomes `max`.
      max: upper bounds, an array like `min`. Where `max` is less than `min`, the result is `max`.

    Returns: array of the shape and dtype of x.

    Raises:
      TypeError: if dtypes differ or shapes are incompatible.

    Example:
      >>> lax.clamp(0.0, jnp.array([-1.5, 0.5, 2.5]), 1.0)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return clamp_p.bind(min, x, max)


# --- round ------------------------------------------------------------------------------------


class RoundingMethod(enum.IntEnum):
    """How `round` rounds elements that are halfway between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


round_p = declare("round")


@round_p.abstract
def _round_abstract(x: ShapedArray, *, rounding_method: RoundingMethod) -> ShapedArray:
    families.check_dtype("round", x.dtype, families.FLOAT)
    return x


_ROUND_FN = {
    RoundingMethod.AWAY_FROM_ZERO: "round_away",
    RoundingMethod.TO_NEAREST_EVEN: "round_even",
}


@round_p.eager
def _round_eager(x: np.ndarray, *, rounding_method: RoundingMethod) -> np.ndarray:
    return reference.scalar.function(_ROUND_FN[rounding_method])(x)


@round_p.lower
def _round_lower(b: Builder, x: Node, *, rounding_method: RoundingMethod) -> Node:
    return b.apply(_ROUND_FN[rounding_method], x)


def round(  # noqa: A001
    x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> Array:
    """Rounds elements to the nearest integer; the result has the dtype of x.

    Args:
      x: floating array.
      rounding_method: how elements that are halfway between two integers are rounded: away from
        zero, or to the even integer, as `jnp.round` does.

    Returns: array of the shape and dtype of x.

    Example:
      >>> lax.round(jnp.array([0.5, 1.5, -2.5]))
      Array([ 1.,  2., -3.], dtype=float32)
      >>> to_even = lax.RoundingMethod.TO_NEAREST_EVEN
      >>> lax.round(jnp.array([0.5, 1.5, -2.5]), to_even)
      Array([ 0.,  2., -2.], dtype=float32)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


# --- derivatives and batching ---------------------------------------------------------------------


@select_n_p.jvp
def _select_n_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    which = primals[0]
    out = select_n_p.bind(*primals)
    case_tangents = tangents[1:]
    if all(type(t) is Zero for t in case_tangents):
        return out, rules.zero_tangent(out)
    return out, select_n_p.bind(which, *map(instantiate, case_tangents))


@select_n_p.transpose
def _select_n_transpose(ct: Cotangent, which: Value, *cases: Operand) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None] * (1 + len(cases))
    zeros = rules.zeros_like(ct)
    if not hasattr(zeros, "aval") and rules.shape_of(ct):
        zeros = rules.broadcast_to_result(zeros, rules.shape_of(ct))
    return [
        None,
        *(
            select_n_p.bind(which, *(ct if i == j else zeros for j in range(len(cases))))
            if rules.is_linear(c)
            else None
            for i, c in enumerate(cases)
        ),
    ]


@select_n_p.batch
def _select_n_batch(args: Primals, dims: Dims) -> tuple[Value, BatchDim]:
    which, *cases = args
    dw, *dc = dims
    size = rules.batch_size(args, dims)
    if dw is None and not rules.shape_of(which):
        return select_n_p.bind(
            which, *(rules.to_front(c, d, size) for c, d in zip(cases, dc, strict=True))
        ), 0
    same = set(dims)
    if len(same) == 1 and len({rules.shape_of(x) for x in args}) == 1:
        return select_n_p.bind(*args), dw
    cases = [rules.to_front(c, d, size) for c, d in zip(cases, dc, strict=True)]
    which = rules.to_front(which, dw, size)
    shape = rules.shape_of(cases[0])
    if rules.shape_of(which) != shape:  # a scalar index for each batch element
        dims_ = tuple(range(len(rules.shape_of(which))))
        which = calculus.broadcast_in_dim(which, shape=shape, broadcast_dimensions=dims_)
    return select_n_p.bind(which, *cases), 0


def _clamp_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    low, x, high = primals
    out = clamp_p.bind(low, x, high)
    shape = rules.shape_of(x)
    conditions = (
        lambda: calculus.and_(calculus.gt(low, x), calculus.lt(low, high)),
        lambda: calculus.and_(calculus.gt(x, low), calculus.lt(x, high)),
        lambda: calculus.lt(high, x),
    )
    total: Tangent | None = None
    for t, condition in zip(tangents, conditions, strict=True):
        if isinstance(t, Zero):
            continue
        t = rules.broadcast_to_result(t, shape)
        part = select_n_p.bind(condition(), rules.zeros_like(t), t)
        total = part if total is None else add_tangents(total, part)
    return out, rules.zero_tangent(out) if total is None else total


clamp_p.jvp(_clamp_jvp)
for _prim in (select_n_p, clamp_p):
    _prim.jet(jet.piecewise_linear(_prim))


@clamp_p.batch
def _clamp_batch(args: Primals, dims: Dims) -> tuple[Value, BatchDim]:
    low, x, high = args
    dl, dx, dh = dims
    if dl is None and dh is None and not rules.shape_of(low) and not rules.shape_of(high):
        return clamp_p.bind(*args), dx
    size = rules.batch_size(args, dims)
    x = rules.to_front(x, dx, size)
    shape = rules.shape_of(x)
    bounds: list[Value] = []
    for b, d in ((low, dl), (high, dh)):
        b = rules.to_front(b, d, size)
        if rules.shape_of(b) != shape:
            b = calculus.broadcast_in_dim(b, shape=shape, broadcast_dimensions=(0,))
        bounds.append(b)
    return clamp_p.bind(bounds[0], x, bounds[1]), 0


rules.def_zero_derivative(round_p)
rules.vectorized(round_p)
clamp_p.absent("transpose", why="not linear")
round_p.absent("transpose", why="not linear")
