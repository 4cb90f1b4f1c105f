"""Linear systems (`solve` by LU, `tridiagonal_solve`), `symmetric_product` and `ormqr`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler import lapack
from jitney.compiler.reference import linalg as reference
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.annotations import stop_gradient
from jitney.primitives.array.creation import broadcasted_iota
from jitney.primitives.elementwise import binary, families, unary
from jitney.primitives.linalg import factorizations, matrix_helpers as mat
from jitney.primitives.linalg.linear_solve import custom_linear_solve
from jitney.primitives.linalg.matrix_functions import matrix_function, no_derivative
from jitney.primitives.reduction.sort import sort_key_val
from jitney.primitives.rules import shape_of
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder
    from jitney.compiler.hlo.ir import Node
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Cotangent, Operand, Primals, Tangent, Tangents, Value


def inverse_permutation(order: Value) -> Array:
    """Returns the inverse of the permutation `order` along the last axis."""
    shape = shape_of(order)
    places = broadcasted_iota(mat.INT32, shape, len(shape) - 1)
    return sort_key_val(order, places)[1]


def lu_solve(factors: Value, order: Value, b: Value, trans: int = 0) -> Array:
    """Solves op(A) @ X = b, where A[order] = L @ U.

    Args:
      factors: matrices with L below the diagonal, and U on and above it.
      order: the permutation of rows.
      b: right-hand sides, with the batch axes of `factors`.
      trans: 0 for A, 1 for its transpose, 2 for its conjugate transpose.
    """
    solve_by = factorizations.triangular_solve_p.bind
    if trans == 0:
        x = factorizations.solve_triangular(
            factors, mat.take_rows(b, order), left_side=True, lower=True, unit=True
        )
        return factorizations.solve_triangular(factors, x, left_side=True, lower=False)
    settings = {
        "left_side": True, "transpose_a": True, "conjugate_a": trans == 2 and mat.is_complex(factors)
    }  # fmt: skip
    x = solve_by(factors, b, lower=False, unit_diagonal=False, **settings)
    x = solve_by(factors, x, lower=True, unit_diagonal=True, **settings)
    return mat.take_rows(x, inverse_permutation(order))


def solve(a: Value, b: Value) -> Array:
    """Computes a^-1 @ b for operands with equal batch axes; derivatives reuse the LU factors."""
    factors, _, order = factorizations.lu_p.bind(stop_gradient(a))
    return custom_linear_solve(
        lambda x: mat.matmul(a, x),
        b,
        solve=lambda _, y: lu_solve(factors, order, y),
        transpose_solve=lambda _, y: lu_solve(factors, order, y, trans=1),
    )


# --- tridiagonal_solve ----------------------------------------------------------------------------

tridiagonal_solve_p = declare("tridiagonal_solve")
tridiagonal_solve_p.sharding(sharding_rules.batch_of(1))


@tridiagonal_solve_p.abstract
def _tridiagonal_solve_abstract(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    families.check_same_dtypes("tridiagonal_solve", (dl, d, du, b))
    families.check_dtype("tridiagonal_solve", b.dtype, families.INEXACT)
    if dl.shape != d.shape or du.shape != d.shape or b.shape[:-1] != d.shape:
        raise TypeError(
            "tridiagonal_solve: diagonals must have the shape of `b` without its last axis, but "
            f"the shapes are {dl.shape}, {d.shape}, {du.shape} and {b.shape}"
        )
    return shaped_array(b.shape, b.dtype)


def _tridiagonal_solve(
    dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *, perturb_singular: bool
) -> np.ndarray:
    return reference.tridiagonal_solve(dl, d, du, b, perturb_singular)


def _tridiagonal_routine(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> lapack.Routine:
    return lapack.routine("tridiagonal_solve", *b.shape[-2:], perturb_singular)


matrix_function(tridiagonal_solve_p, _tridiagonal_solve, _tridiagonal_routine, linear=True)


def _shifted(x: Value, by: int) -> Array:
    """Shifts `x` along the second-to-last axis, filling with zeros."""
    from jitney.primitives.array.concatenation import pad

    edges = [(0, 0, 0)] * (len(shape_of(x)) - 2) + [(by, -by, 0), (0, 0, 0)]
    return pad(x, rules.const(x, 0), edges)


def _tridiagonal_product(dl: Value, d: Value, du: Value, x: Value) -> Array:
    low = binary.mul(mat.as_column(dl), _shifted(x, 1))
    up = binary.mul(mat.as_column(du), _shifted(x, -1))
    return binary.add(binary.add(low, binary.mul(mat.as_column(d), x)), up)


@tridiagonal_solve_p.jvp
def _tridiagonal_solve_jvp(
    primals: Primals, tangents: Tangents, **params: object
) -> tuple[Value, Tangent]:
    *diagonals, b = primals
    *changes, tb = tangents
    out = tridiagonal_solve_p.bind(*diagonals, b, **params)
    if all(type(t) is Zero for t in changes):
        if isinstance(tb, Zero):
            return out, rules.zero_tangent(out)
        return out, tridiagonal_solve_p.bind(*diagonals, tb, **params)
    dl, d, du = map(instantiate, changes)
    product = _tridiagonal_product(dl, d, du, out)
    right = unary.neg(product) if isinstance(tb, Zero) else binary.sub(tb, product)
    return out, tridiagonal_solve_p.bind(*diagonals, right, **params)


@tridiagonal_solve_p.transpose
def _tridiagonal_solve_transpose(
    ct: Cotangent, dl: Array, d: Array, du: Array, b: Operand, **params: object
) -> list[Cotangent | None]:
    assert rules.is_linear(b)
    if isinstance(ct, Zero):
        return [None, None, None, Zero(b.aval.to_cotangent_aval())]
    low, up = (mat.as_column(x) for x in (dl, du))
    flat = d.shape
    from jitney.primitives.array.shape import reshape

    low, up = reshape(_shifted(up, 1), flat), reshape(_shifted(low, -1), flat)
    return [None, None, None, tridiagonal_solve_p.bind(low, d, up, ct, **params)]


# --- products -------------------------------------------------------------------------------------

symmetric_product_p = declare("symmetric_product")
ormqr_p = declare("ormqr")


@symmetric_product_p.abstract
def _symmetric_product_abstract(
    a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float
) -> ShapedArray:
    families.check_same_dtypes("symmetric_product", (a, c))
    if a.ndim < 2 or c.shape != (*a.shape[:-1], a.shape[-2]):
        raise TypeError(
            "symmetric_product: `c` must have the shape of a @ a.T, but the shapes of `a` and `c` are "
            f"{a.shape} and {c.shape}"
        )
    return shaped_array(c.shape, c.dtype)


def _symmetric_product(a: np.ndarray, c: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return (alpha * (a @ np.swapaxes(a, -1, -2)) + beta * c).astype(c.dtype)


def _symmetric_product_written(b: Builder, a: Node, c: Node, *, alpha: float, beta: float) -> Node:
    """Builds `alpha * a @ a^T + beta * c` from elementwise nodes and a contraction."""
    batch = tuple(range(len(a.shape) - 2))
    last = (len(a.shape) - 1,)
    product = b.dot(a, a, (last, last), (batch, batch))
    scaled = [
        b.apply("mul", x, b.full(x.shape, by, x.dtype)) for x, by in ((product, alpha), (c, beta))
    ]
    return b.apply("add", *scaled)


matrix_function(symmetric_product_p, _symmetric_product, small=_symmetric_product_written)
no_derivative(symmetric_product_p)


@ormqr_p.abstract
def _ormqr_abstract(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    families.check_same_dtypes("ormqr", (a, taus, c))
    if a.shape[-2] != c.shape[-2 if left else -1]:
        raise ValueError(
            f"ormqr: with {left=}, `c` must have as many {'rows' if left else 'columns'} as `a` has "
            f"rows, but their shapes are {c.shape} and {a.shape}"
        )
    return shaped_array(c.shape, c.dtype)


def _ormqr_routine(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> lapack.Routine:
    sizes = (*c.shape[-2:], a.shape[-1], taus.shape[-1])
    return lapack.routine("ormqr", *sizes, left, transpose)


matrix_function(ormqr_p, reference.ormqr, _ormqr_routine)
no_derivative(ormqr_p)
