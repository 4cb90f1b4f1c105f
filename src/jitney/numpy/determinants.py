"""Determinants by LU decomposition, and their derivatives."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit
from jitney.core.types.avals import get_aval
from jitney.core.typing import Array, ArrayLike
from jitney.lax import linalg as lax
from jitney.numpy.linear_systems import solve_arrays
from jitney.numpy.matrix_operands import check_square, inexact, of_dtype
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.elementwise import unary
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.linalg import matrix_helpers as mat
from jitney.primitives.reduction.reduce import reduce_prod, reduce_sum


class SlogdetResult(NamedTuple):
    """The result of `slogdet`: the sign of a determinant (a phase if complex) and log |det|."""

    sign: Array
    logabsdet: Array


def _parity(pivots: Array) -> Array:
    """Returns the number of row exchanges that LU pivots represent."""
    from jitney.primitives.array.creation import broadcasted_iota

    places = broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    return reduce_sum(convert(pivots != places, np.dtype(np.int32)), (pivots.ndim - 1,))


def _diagonal_and_sign(a: Array) -> tuple[Array, Array, Array, Array]:
    """Returns (LU factors, permutation, diagonal of U, sign of the permutation)."""
    factors, pivots, order = lax.lu(a)
    even = 1 - 2 * (_parity(pivots) & 1)
    return factors, order, mat.diagonal(factors), convert(even, a.dtype)


@custom_jvp
def _det(a: Array) -> Array:
    _, _, d, sign = _diagonal_and_sign(a)
    # Weakly typed for the small matrices whose elements JAX multiplies directly; strongly typed
    # when differentiated.
    weak = get_aval(a).weak_type and a.shape[-1] in (2, 3)
    return convert(sign * reduce_prod(d, (d.ndim - 1,)), a.dtype, weak)


@_det.defjvp
def _det_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    """Computes the derivative trace(adj(a) @ t); the adjugate adj(a) exists for singular `a`, too.

    In the triangular solve with U, the last row is multiplied by the other diagonal elements
    instead of being divided by its own. This is exact if no diagonal element except the last is
    zero.
    """
    (a,), (t,) = primals, tangents
    factors, order, d, sign = _diagonal_and_sign(a)
    n = a.shape[-1]
    value = sign * reduce_prod(d, (d.ndim - 1,))
    if n == 0:
        return value, value
    others = sign * reduce_prod(d[..., :-1], (d.ndim - 1,))
    right = lax.triangular_solve(
        factors, mat.take_rows(t, order), left_side=True, lower=True, unit_diagonal=True
    )
    last = broadcast_to(np.arange(n) == n - 1, d.shape)
    weights = where(last, others[..., None], value[..., None])
    nonzero = where(last | (d == 0), of_dtype(1, a), d)
    unit = broadcast_to(np.eye(n, dtype=bool), factors.shape)
    upper = where(unit, nonzero[..., None], factors)
    x = lax.triangular_solve(upper, weights[..., None] * right, left_side=True)
    d_x = mat.diagonal(x)
    return value, reduce_sum(d_x, (d_x.ndim - 1,))


@jit  # compiled even in eager mode, like `inv`
def det(a: ArrayLike) -> Array:
    """Computes the determinants of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns: an array of shape (...) and inexact dtype.

    Raises:
      ValueError: if `a` is not square.

    Example:
      >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 5.0]])).round(4)
      Array(-1., dtype=float32)
    """
    a = inexact("det", a)
    check_square("det", a)
    return _det(a)


@partial(jit, static_argnames=("method",))  # compiled even in eager mode, like `inv`
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Computes the signs of determinants and the logarithms of their absolute values.

    Args:
      a: matrices of shape (..., n, n).
      method: "lu" or "qr"; both are accepted, and both compute an LU decomposition.

    Returns: two arrays of shape (...): the signs (phases for complex matrices; 0 where the
      determinant is 0), and the logarithms (-inf where the determinant is 0).

    Raises:
      ValueError: if `a` is not square, or `method` is another string.

    Example:
      >>> sign, logarithm = jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
      >>> sign
      Array(-1., dtype=float32)
    """
    a = inexact("slogdet", a)
    check_square("slogdet", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"jnp.linalg.slogdet: `method` must be 'lu', 'qr' or None, but it is {method!r}"
        )
    # As in `det`: JAX multiplies the elements of such small matrices directly.
    weak = get_aval(a).weak_type and a.shape[-1] in (1, 2)
    return SlogdetResult(*(convert(x, x.dtype, weak) for x in _slogdet(a)))


@custom_jvp
def _slogdet(a: Array) -> tuple[Array, Array]:
    _, _, d, sign = _diagonal_and_sign(a)
    axis = (d.ndim - 1,)
    zero = reduce_sum(convert(d == 0, np.dtype(np.int32)), axis) > 0
    size = unary.abs(d)
    phase = d / convert(size, d.dtype) if mat.is_complex(d) else unary.sign(d)
    sign = where(zero, of_dtype(0, a), sign * reduce_prod(phase, axis))
    total = reduce_sum(unary.log(size), axis)
    return sign, where(zero, of_dtype(-math.inf, total), total)


@_slogdet.defjvp
def _slogdet_jvp(
    primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    (a,), (t,) = primals, tangents
    sign, size = _slogdet(a)
    change = mat.diagonal(solve_arrays(a, t))
    total = mat.strong(reduce_sum(change, (change.ndim - 1,)))
    if not mat.is_complex(a):
        return (sign, size), (sign * of_dtype(0, a), total)
    turn = convert(unary.imag(total), a.dtype) * of_dtype(1j, a)
    return (sign, size), (sign * turn, unary.real(total))
