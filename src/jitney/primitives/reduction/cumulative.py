"""Cumulative reductions along an axis: sums, products, maxima, minima, log-sum-exp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from jitney.compiler.reference import reduction, scalar
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, families, taylor, unary
from jitney.primitives.elementwise.compare import eq
from jitney.primitives.elementwise.compiled_rules import compile_large
from jitney.transforms import jet
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        Builder,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )


class CumulativeFunction(Protocol):
    """A public function of this module."""

    def __call__(self, operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...


_SECTIONS = """
    Args:
      operand: numeric array.
      axis: the accumulated axis, which must not be negative.
      reverse: whether to accumulate from the end.

    Returns: array with the shape and dtype of `operand`.

    Raises:
      TypeError: if the dtype is not numeric.
      ValueError: if the axis is negative or out of bounds.
    """


def _cumulative(
    name: str, fn: str, accepts: families.Accepts, doc: str, *, linear: bool = False
) -> tuple[Primitive, CumulativeFunction]:
    prim = declare(name, linear=linear)
    prim.sharding(sharding_rules.replicated_along("axis", "a complete axis"))

    @prim.abstract
    def abstract_rule(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if axis < 0:
            raise ValueError(f"{name}: `axis` must not be negative, but is {axis}")
        if axis >= x.ndim:
            raise ValueError(f"{name}: an operand of shape {x.shape} has no axis {axis}")
        if not families.is_accepted(x.dtype, accepts):
            kinds = "numeric" if accepts is families.NUMERIC else families.names(accepts)
            raise TypeError(
                f"{name}: the operand must be {kinds}, but is {dtypes.long_name(x.dtype)}"
            )
        return x

    @prim.eager
    def eager_rule(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        if fn == "logaddexp" and x.dtype.kind == "c":
            x = scalar.function(fn)(x, _minus_infinity(x.dtype))
        return reduction.cumulative(x, fn, axis, reverse)

    compile_large(prim)

    @prim.lower
    def lower_rule(b: Builder, x: Node, *, axis: int, reverse: bool) -> Node:
        if fn == "logaddexp" and x.dtype.kind == "c":
            # The first element becomes log(exp(x)): like all others, it is then a principal value.
            nothing = b.broadcast(b.constant(_minus_infinity(x.dtype)), x.shape, ())
            x = b.apply(fn, x, nothing)
        return b.cumulative(x, fn, axis, reverse)

    def function(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        try:
            return prim.bind(operand, axis=int(axis), reverse=bool(reverse))
        except TypeError:
            families.check_operands(name, operand)
            raise

    return prim, families.named(function, name, doc, _SECTIONS)


def _minus_infinity(dtype: np.dtype) -> np.ndarray:
    return np.asarray(-np.inf, dtype)


cumsum_p, cumsum = _cumulative(
    "cumsum",
    "add",
    families.NUMERIC,
    """Computes the running sum along `axis`, from the end if `reverse`.

    Example:
      >>> lax.cumsum(jnp.array([1, 2, 3]))
      Array([1, 3, 6], dtype=int32)
    """,
    linear=True,
)
cumprod_p, cumprod = _cumulative(
    "cumprod",
    "mul",
    families.NUMERIC,
    """Computes the running product along `axis`, from the end if `reverse`.

    Example:
      >>> lax.cumprod(jnp.array([1, 2, 3]), reverse=True)
      Array([6, 6, 3], dtype=int32)
    """,
)
cummax_p, cummax = _cumulative(
    "cummax",
    "max",
    families.NUMERIC,
    """Computes the running maximum along `axis`, from the end if `reverse`.

    Example:
      >>> lax.cummax(jnp.array([1, 3, 2]))
      Array([1, 3, 3], dtype=int32)
    """,
)
cummin_p, cummin = _cumulative(
    "cummin",
    "min",
    families.NUMERIC,
    "Computes the running minimum along `axis`, from the end if `reverse`.",
)
cumlogsumexp_p, cumlogsumexp = _cumulative(
    "cumlogsumexp",
    "logaddexp",
    families.INEXACT,
    """Computes the running log(sum(exp(x))) along `axis`, from the end if `reverse`.

    Imaginary parts of complex results are between -pi and pi, like those of principal values.
    """,
)

# --- derivatives and batching -------------------------------------------------------------------


def _part(x: Value, start: int, limit: int, stride: int, axis: int) -> Value:
    shape = shape_of(x)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return calculus.slice(
        x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides)
    )


def _interleaved(even: Value, odd: Value, axis: int) -> Value:
    """Interleaves along `axis`: even[0], odd[0], even[1], odd[1], ..."""
    rank, is_longer = len(shape_of(even)), shape_of(even)[axis] > shape_of(odd)[axis]

    def spread(x: Value, low: int, high: int) -> Value:
        config = tuple([(low, high, 1) if k == axis else (0, 0, 0) for k in range(rank)])
        return calculus.pad(x, rules.factor(x, 0), padding_config=config)

    return binary.add(spread(even, 0, 0 if is_longer else 1), spread(odd, 1, 1 if is_longer else 0))


def scan_by_halves(
    combine: Callable[[list[Value], list[Value]], list[Value]], xs: list[Value], axis: int
) -> list[Value]:
    """Computes the prefix reductions of the tuple of arrays `xs` by an associative function.

    The depth is logarithmic in the size: neighbors are combined, the pairs are scanned, and the
    elements in between are computed from the results.
    """
    n = shape_of(xs[0])[axis]
    if n < 2:
        return xs
    pairs = combine(
        [_part(x, 0, n - 1, 2, axis) for x in xs], [_part(x, 1, n, 2, axis) for x in xs]
    )
    odd = scan_by_halves(combine, pairs, axis)
    before = [_part(x, 0, n // 2 - 1, 1, axis) for x in odd] if n % 2 == 0 else odd
    even = combine(before, [_part(x, 2, n, 2, axis) for x in xs])
    even = [
        calculus.concatenate(_part(x, 0, 1, 1, axis), e, dimension=axis)
        for x, e in zip(xs, even, strict=True)
    ]
    return [_interleaved(e, o, axis) for e, o in zip(even, odd, strict=True)]


def _scan(
    combine: Callable[[list[Value], list[Value]], list[Value]],
    xs: list[Value],
    axis: int,
    reverse: bool,
) -> list[Value]:
    if reverse:
        xs = [calculus.rev(x, dimensions=(axis,)) for x in xs]
    outs = scan_by_halves(combine, xs, axis)
    return [calculus.rev(x, dimensions=(axis,)) for x in outs] if reverse else outs


def _by_scan(prim: Primitive, combine: Callable[[Value, Value], Value]) -> None:
    """Sets the JVP rule of `prim` to that of a scan by `combine`."""

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, *, axis: int, reverse: bool
    ) -> tuple[Value, Tangent]:
        def scan(x: Value) -> list[Value]:
            return _scan(lambda a, b: [combine(a[0], b[0])], [x], axis, reverse)

        (out,), (tangent,) = jvp_flat(scan, primals, tangents)
        return out, tangent


_by_scan(cumprod_p, binary.mul)
_by_scan(cummax_p, binary.max)
_by_scan(cummin_p, binary.min)
cummax_p.jet(jet.piecewise_linear(cummax_p))
cummin_p.jet(jet.piecewise_linear(cummin_p))


def _cumprod_by_scan(x: Value, axis: int, reverse: bool) -> Value:
    return _scan(lambda a, b: [binary.mul(a[0], b[0])], [x], axis, reverse)[0]


taylor.composed(cumprod_p, _cumprod_by_scan)


def _ratio(x: Value, y: Value) -> Value:
    """Computes exp(x - y), or 1 where both are the same infinity."""
    gap = binary.sub(x, y)
    if rules.aval_of(x).dtype.kind != "c":
        infinite = eq(unary.abs(y), rules.const(y, np.inf))
        both = binary.bitwise_and(eq(x, y), infinite)
        gap = calculus.select_n(both, gap, rules.zeros_like(gap))
    return unary.exp(gap)


@cumlogsumexp_p.jvp
def _cumlogsumexp_jvp(
    primals: Primals, tangents: Tangents, *, axis: int, reverse: bool
) -> tuple[Value, Tangent]:
    (x,), (t,) = primals, tangents
    y = cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)
    n = shape_of(x)[axis]
    if isinstance(t, Zero):
        return y, rules.zero_tangent(y)
    # dy[i] = exp(y[i-1] - y[i]) dy[i-1] + exp(x[i] - y[i]) dx[i]: no factor exceeds 1.
    own = binary.mul(_ratio(x, y), t)
    if n < 2:
        return y, own
    ends = ((1, n), (0, n - 1)) if reverse else ((0, n - 1), (1, n))
    before, after = (_part(y, *end, 1, axis) for end in ends)
    decay = _ratio(before, after)
    config = [(0, 0, 0)] * len(shape_of(x))
    config[axis] = (0, 1, 0) if reverse else (1, 0, 0)
    decay = calculus.pad(decay, rules.const(decay, 0), padding_config=tuple(config))

    def combine(a: list[Value], b: list[Value]) -> list[Value]:
        return [binary.mul(a[0], b[0]), binary.add(binary.mul(b[0], a[1]), b[1])]

    return y, _scan(combine, [decay, own], axis, reverse)[1]


def _cumsum_transpose(ct: Value, x: Operand, *, axis: int, reverse: bool) -> Value:
    return cumsum_p.bind(ct, axis=axis, reverse=not reverse)


rules.deflinear(cumsum_p, _cumsum_transpose)

for _prim in (cumsum_p, cumprod_p, cummax_p, cummin_p, cumlogsumexp_p):

    @_prim.batch
    def _prim_batch(
        args: Primals, dims: Sequence[int], *, axis: int, reverse: bool, _prim: Primitive = _prim
    ) -> tuple[Value, int]:
        (x,), (d,) = args, dims
        return _prim.bind(x, axis=axis + (d <= axis), reverse=reverse), d

    if "transpose" not in _prim.rules:
        _prim.absent("transpose", why="not linear")
