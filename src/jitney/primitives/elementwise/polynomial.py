"""`polynomial`: the elementwise sum of c_k x^k, in which each coefficient is an operand.

Source: Horner's rule; Knuth, The Art of Computer Programming, volume 2, section 4.6.4.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import scalar as reference
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import calculus, rules
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.families import NUMERIC
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

polynomial_p = declare("polynomial")
polynomial_p.stretches = True


@polynomial_p.abstract
def _polynomial_abstract(*avals: ShapedArray, unroll: int | None) -> ShapedArray:
    families.check_nary("polynomial", avals, (NUMERIC,) * len(avals))
    shape = families.broadcast_shape("polynomial", avals)
    return shaped_array(shape, avals[0].dtype, all([a.weak_type for a in avals]))


@polynomial_p.eager
def _polynomial_eager(x: np.ndarray, *coeffs: np.ndarray, unroll: int | None) -> np.ndarray:
    add, mul = reference.function("add"), reference.function("mul")
    x, *stretched = np.broadcast_arrays(x, *coeffs)
    out = stretched[-1]
    for c in reversed(stretched[:-1]):
        out = np.asarray(add(mul(out, x), c))
    return out


@polynomial_p.lower
def _polynomial_lower(b: Builder, *nodes: Node, unroll: int | None) -> Node:
    x, *coeffs = families.broadcast_nodes(b, nodes)
    out = coeffs[-1]
    for c in reversed(coeffs[:-1]):
        out = b.apply("add", b.apply("mul", out, x), c)
    return out


def polynomial(
    x: ArrayLike,
    coeffs: Sequence[ArrayLike] | Array | np.ndarray,
    *,
    unroll: int | None = None,
) -> Array:
    """Evaluates a polynomial at `x`: coeffs[0] + coeffs[1] x + coeffs[2] x^2 + ...

    Args:
      x: integer, floating or complex array.
      coeffs: sequence of scalars or arrays, constant term first, which are converted to the dtype
        of x. Arrays must have the rank of x, and along each axis the size of x or size 1. A single
        array stands for the sequence of its rows.
      unroll: number of terms that JAX computes per loop iteration. In this implementation,
        evaluation is never a loop; the value is only recorded as a parameter of the operation.

    Returns: array with the dtype of x and the shape to which x and the coefficients broadcast. It
      is zero if there are no coefficients.

    Raises:
      TypeError: if x is not numeric, if `coeffs` is not a sequence, or if shapes do not broadcast.
      ValueError: if `unroll` is negative.

    Accuracy: the error of Horner's rule is at most 2n u sum |c_k x^k|, for n terms and unit
      roundoff u.

    Example:
      >>> lax.polynomial(jnp.array([0.0, 1.0, 2.0]), (1.0, 2.0, 3.0))
      Array([ 1.,  6., 17.], dtype=float32)
    """
    if unroll is not None and operator.index(unroll) < 0:
        raise ValueError(f"lax.polynomial: unroll must be None or at least 0, but is {unroll}")
    families.check_operands("polynomial", x)
    dtype = dtypes.dtype(x)
    families.check_dtype("polynomial", dtype, NUMERIC, 0)
    try:
        terms = [*coeffs]
    except TypeError:
        raise TypeError(
            "lax.polynomial: coeffs must be a sequence of scalars or arrays, but is of type "
            f"{type(coeffs).__name__}; for a constant c, pass (c,)"
        ) from None
    families.check_operands("polynomial", x, *terms)
    operands = [_converted(c, x) for c in terms]
    if len(operands) > 1:
        return polynomial_p.bind(x, *operands, unroll=unroll)
    constant = operands[0] if operands else rules.const(x, 0)
    avals = [rules.aval_of(x), rules.aval_of(constant)]
    shape = families.broadcast_shape("polynomial", avals)
    return calculus.broadcast_in_dim(
        constant,
        shape=shape,
        broadcast_dimensions=tuple(range(len(rules.shape_of(constant)))),
    )


def _converted(c: ArrayLike, x: ArrayLike) -> ArrayLike:
    """Converts a coefficient to the dtype of x; Python scalars get the weak type of x."""
    aval = rules.aval_of(x)
    if isinstance(c, complex) and aval.dtype.kind != "c":
        raise TypeError(
            f"lax.polynomial: coefficients are converted to the dtype of x, {aval.dtype}, but {c} is "
            "complex; convert x to a complex dtype first"
        )
    if isinstance(c, bool | int | float | complex):
        return rules.const(x, c)
    own = rules.aval_of(c)
    if own.dtype == aval.dtype and not own.weak_type:
        return c
    return calculus.convert_element_type(c, new_dtype=aval.dtype)


# --- derivatives and batching -------------------------------------------------------------------


def _value(x: Value, coeffs: Sequence[Value], shape: tuple[int, ...], unroll: int | None) -> Value:
    """Evaluates the polynomial with `coeffs`, at least one, and broadcasts it to `shape`."""
    if len(coeffs) > 1:
        coeffs = [polynomial_p.bind(x, *coeffs, unroll=unroll)]
    return rules.broadcast_to_result(coeffs[0], shape)


@polynomial_p.jvp
def _polynomial_jvp(
    primals: Primals, tangents: Tangents, *, unroll: int | None
) -> tuple[Value, Tangent]:
    x, *coeffs = primals
    t, *others = tangents
    out = polynomial_p.bind(*primals, unroll=unroll)
    shape = rules.shape_of(out)
    total: Tangent | None = None
    if not isinstance(t, Zero):
        scaled = [calculus.mul(rules.factor(c, k), c) for k, c in enumerate(coeffs[1:], start=1)]
        total = calculus.mul(t, _value(x, scaled, shape, unroll))
    if any([type(c) is not Zero for c in others]):
        by_coeffs = _value(x, [instantiate(c) for c in others], shape, unroll)
        total = by_coeffs if total is None else add_tangents(total, by_coeffs)
    return out, rules.zero_tangent(out) if total is None else total


@polynomial_p.transpose
def _polynomial_transpose(
    ct: Cotangent, x: Operand, *coeffs: Operand, unroll: int | None
) -> list[Cotangent | None]:
    if isinstance(x, UndefinedPrimal):
        raise TypeError("polynomial: a polynomial of a linear value is not linear in it")
    if isinstance(ct, Zero):
        return [None, *[ct if rules.is_linear(c) else None for c in coeffs]]
    out: list[Cotangent | None] = [None]
    for k, c in enumerate(coeffs):
        if k:
            ct = calculus.mul(ct, x)
        out.append(rules.unbroadcast(c, ct) if rules.is_linear(c) else None)
    return out


rules.broadcasting(polynomial_p)
