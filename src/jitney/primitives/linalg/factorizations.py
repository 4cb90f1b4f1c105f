"""Factorizations and triangular systems: `cholesky`, `lu`, `qr`, `eigh`, `eig`, `svd`, ...

Matrices are in the last two axes; leading axes are batch axes. Programs call LAPACK by address
(`compiler/lapack.py`); for less common functions, they call NumPy and SciPy on the host. Operations
on small matrices are inlined (`compiler/hlo/small_linalg.py`). Derivatives are built from matrix
products and triangular solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lapack
from jitney.compiler.hlo import small_linalg as small
from jitney.compiler.library import Routine
from jitney.compiler.reference import linalg as reference
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.elementwise import binary, families, powers, unary
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.linalg import matrix_helpers as mat
from jitney.primitives.linalg.matrix_functions import matrix_function, no_derivative
from jitney.primitives.rules import shape_of
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Node,
        Operand,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

INT32 = np.dtype(np.int32)


def _matrix(name: str, x: ShapedArray, position: int = 0) -> tuple[tuple[int, ...], int, int]:
    """Returns (batch shape, rows, columns) of a matrix operand; raises TypeError for vectors."""
    families.check_dtype(name, x.dtype, families.INEXACT, position)
    if len(x.shape) < 2:
        raise TypeError(
            f"{name}: operand {position} must contain matrices, so its rank must be at least 2, but "
            f"its shape is {x.shape}"
        )
    return x.shape[:-2], x.shape[-2], x.shape[-1]


def square(name: str, x: ShapedArray, which: str = "the operand") -> tuple[tuple[int, ...], int]:
    """Returns (batch shape, rows) of a square matrix operand; otherwise raises an error."""
    batch, m, n = _matrix(name, x)
    if m != n:
        raise ValueError(f"{name}: {which} must contain square matrices, but has shape {x.shape}")
    return batch, n


def _real(dtype: np.dtype) -> np.dtype:
    return reference.real_dtype(dtype)


def zero_tangents(outs: Sequence[Value]) -> tuple[Sequence[Value], list[Zero]]:
    """Returns the results, with zeros as their tangents."""
    return outs, [rules.zero_tangent(x) for x in outs]


# --- cholesky -------------------------------------------------------------------------------------

cholesky_p = declare("cholesky")
cholesky_p.sharding(sharding_rules.batch_of(2))


@cholesky_p.abstract
def _cholesky_abstract(x: ShapedArray) -> ShapedArray:
    square("cholesky", x)
    return shaped_array(x.shape, x.dtype)


def _cholesky_routine(x: ShapedArray) -> Routine:
    return lapack.routine("cholesky", x.shape[-1])


matrix_function(cholesky_p, reference.cholesky, _cholesky_routine, small.cholesky)


@cholesky_p.jvp
def _cholesky_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    (x,), (t,) = primals, tangents
    factor = cholesky_p.bind(x)
    if isinstance(t, Zero):
        return factor, rules.zero_tangent(factor)
    right = solve_triangular(factor, t, left_side=False, lower=True, adjoint=True)
    inner = mat.strong(solve_triangular(factor, right, left_side=True, lower=True))
    half = binary.sub(mat.tril(inner), binary.mul(mat.only_diagonal(inner), mat.scalar(inner, 0.5)))
    return factor, mat.matmul(factor, half)


# --- triangular_solve -----------------------------------------------------------------------------

triangular_solve_p = declare("triangular_solve")
triangular_solve_p.sharding(sharding_rules.triangular_solve)


@triangular_solve_p.abstract
def _triangular_solve_abstract(
    a: ShapedArray, b: ShapedArray, *, left_side: bool, **_: Any
) -> ShapedArray:
    name = "triangular_solve"
    _matrix(name, b, 1)
    if len(a.shape) != len(b.shape):
        ranks = [len(a.shape) - 2, len(b.shape) - 2]
        raise TypeError(
            f"{name}: the numbers of batch axes of the operands must be equal, but are {ranks}, as "
            f"the shapes are {a.shape} and {b.shape}"
        )
    batch, n = square(name, a, "the first operand")
    families.check_same_dtypes(name, (a, b))
    if batch != b.shape[:-2] or b.shape[-2 if left_side else -1] != n:
        side = (*batch, n, "k") if left_side else (*batch, "k", n)
        wanted = ", ".join(map(str, side))
        raise ValueError(
            f"{name}: with {left_side=} and `a` of shape {a.shape}, `b` must have shape ({wanted}), "
            f"but has shape {b.shape}"
        )
    return shaped_array(b.shape, b.dtype)


def _solving_routine(
    a: ShapedArray, b: ShapedArray, *, left_side: bool, lower: bool, transpose_a: bool,
    conjugate_a: bool, unit_diagonal: bool,
) -> Routine | None:  # fmt: skip
    if conjugate_a and not transpose_a:
        return None
    form = transpose_a * (1 + (conjugate_a and a.dtype.kind == "c"))
    return lapack.routine("triangular_solve", *b.shape[-2:], left_side, lower, form, unit_diagonal)


matrix_function(
    triangular_solve_p,
    reference.triangular_solve,
    _solving_routine,
    small.triangular_solve,
    linear=True,
)


def solve_triangular(
    a: Value, b: Value, *, left_side: bool, lower: bool, adjoint: bool = False, unit: bool = False
) -> Array:
    """Solves a triangular system with matrix `a`, or its conjugate transpose if `adjoint`."""
    return triangular_solve_p.bind(
        a, b, conjugate_a=adjoint and mat.is_complex(a), left_side=left_side, lower=lower,
        transpose_a=adjoint, unit_diagonal=unit,
    )  # fmt: skip


@triangular_solve_p.jvp
def _triangular_solve_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[Value, Tangent]:
    (a, b), (ta, tb) = primals, tangents
    out = triangular_solve_p.bind(a, b, **params)
    if isinstance(ta, Zero):
        if isinstance(tb, Zero):
            return out, rules.zero_tangent(out)
        return out, triangular_solve_p.bind(a, tb, **params)
    unit = int(params["unit_diagonal"])
    change = mat.tril(ta, -unit, True) if params["lower"] else mat.triu(ta, unit, True)
    if params["transpose_a"]:
        change = mat.transpose(change)
    if params["conjugate_a"]:
        change = mat.conj(change)
    product = mat.matmul(change, out) if params["left_side"] else mat.matmul(out, change)
    right = unary.neg(product) if isinstance(tb, Zero) else binary.sub(tb, product)
    return out, triangular_solve_p.bind(a, right, **params)


@triangular_solve_p.transpose
def _triangular_solve_transpose(
    ct: Cotangent, a: Operand, b: Operand, *, transpose_a: bool, **params: object
) -> list[Cotangent | None]:
    assert rules.is_linear(b) and not rules.is_linear(a)
    if isinstance(ct, Zero):
        return [None, Zero(b.aval.to_cotangent_aval())]
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


# --- lu -------------------------------------------------------------------------------------------

lu_p = declare("lu", multiple_results=True)
lu_p.sharding(sharding_rules.batch_of(2))


@lu_p.abstract
def _lu_abstract(x: ShapedArray) -> list[ShapedArray]:
    batch, m, n = _matrix("lu", x)
    return [
        shaped_array(x.shape, x.dtype),
        shaped_array((*batch, min(m, n)), INT32),
        shaped_array((*batch, m), INT32),
    ]


def _lu_routine(x: ShapedArray) -> Routine:
    return lapack.routine("lu", *x.shape[-2:])


matrix_function(lu_p, reference.lu, _lu_routine, small.lu)


@lu_p.jvp
def _lu_jvp(primals: Primals, tangents: Tangents) -> tuple[Sequence[Value], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    factors, pivots, order = lu_p.bind(x)
    if isinstance(t, Zero):
        return zero_tangents([factors, pivots, order])
    m, n = shape_of(x)[-2:]
    k = min(m, n)
    # L and U are extended to square matrices with rows and columns of the identity matrix.
    low = binary.add(mat.widened(mat.tril(mat.window(factors, m, k), -1), m, m), mat.eye(m, m, x))
    corner = mat.triu(mat.window(factors, k, n))
    if n > k:
        corner_of_eye = binary.sub(mat.eye(n, n, x), mat.widened(mat.eye(k, k, x), n, n))
        up = binary.add(mat.widened(corner, n, n), corner_of_eye)
    else:
        up = corner
    inner = solve_triangular(low, mat.take_rows(t, order), left_side=True, lower=True, unit=True)
    inner = solve_triangular(up, inner, left_side=False, lower=False)
    tangent = binary.add(mat.matmul(low, mat.tril(inner, -1)), mat.matmul(mat.triu(inner), up))
    zero = [rules.zero_tangent(pivots), rules.zero_tangent(order)]
    return [factors, pivots, order], [tangent, *zero]


lu_pivots_to_permutation_p = declare("lu_pivots_to_permutation")
lu_pivots_to_permutation_p.sharding(sharding_rules.batch_of(1))


@lu_pivots_to_permutation_p.abstract
def _lu_pivots_to_permutation_abstract(
    pivots: ShapedArray, *, permutation_size: int
) -> ShapedArray:
    families.check_dtype("lu_pivots_to_permutation", pivots.dtype, families.INTEGER)
    if not pivots.shape:
        raise ValueError(
            "lu_pivots_to_permutation: `pivots` must have at least one axis, but has none"
        )
    if permutation_size < pivots.shape[-1]:
        raise ValueError(
            f"lu_pivots_to_permutation: `permutation_size` must be at least the number of pivots, "
            f"but is {permutation_size} for pivots of shape {pivots.shape}"
        )
    return shaped_array((*pivots.shape[:-1], permutation_size), INT32)


def _permutation(pivots: np.ndarray, *, permutation_size: int) -> np.ndarray:
    return reference.pivots_to_permutation(pivots, permutation_size)


def _permutation_written(b: Builder, pivots: Node, *, permutation_size: int) -> Node:
    return small.permutation(b, pivots, permutation_size)


matrix_function(lu_pivots_to_permutation_p, _permutation, small=_permutation_written)
rules.def_zero_derivative(lu_pivots_to_permutation_p)


# --- qr -------------------------------------------------------------------------------------------

qr_p = declare("qr", multiple_results=True)
qr_p.sharding(sharding_rules.batch_of(2))


@qr_p.abstract
def _qr_abstract(
    x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: object
) -> list[ShapedArray]:
    batch, m, n = _matrix("qr", x)
    k = m if full_matrices else min(m, n)
    outs = [shaped_array((*batch, m, k), x.dtype), shaped_array((*batch, k, n), x.dtype)]
    return [*outs, shaped_array((*batch, n), INT32)] if pivoting else outs


def _qr(
    x: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: object
) -> list[np.ndarray]:
    return reference.qr(x, pivoting, full_matrices)


def _qr_routine(x: ShapedArray, *, pivoting: bool, full_matrices: bool, **_: Any) -> Routine | None:
    m, n = x.shape[-2:]
    return None if pivoting else lapack.routine("qr", m, n, m if full_matrices else min(m, n))


matrix_function(qr_p, _qr, _qr_routine)


@qr_p.jvp
def _qr_jvp(
    primals: Primals, tangents: Tangents, **params: object
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    outs = qr_p.bind(x, **params)
    if isinstance(t, Zero):
        return zero_tangents(outs)
    q, r, *order = outs
    m, n = shape_of(x)[-2:]
    k, size = min(m, n), shape_of(q)[-1]
    if order:
        t = mat.transpose(mat.take_rows(mat.transpose(t), order[0]))
    moved = solve_triangular(mat.window(r, k, k), mat.window(t, m, k), left_side=False, lower=False)
    inner = mat.matmul(mat.adjoint(q), moved)
    low = mat.widened(mat.tril(mat.strong(inner), -1), size, size)
    rotation = binary.sub(low, mat.adjoint(low))
    if mat.is_complex(x):
        phase = mat.widened(mat.only_diagonal(mat.strong(inner)), size, size)
        rotation = binary.add(rotation, binary.sub(phase, real_of(phase)))
    if size < m:
        residual = mat.strong(binary.sub(moved, mat.matmul(q, inner)))
        dq = binary.add(mat.matmul(q, rotation), residual)
    else:
        dq = mat.matmul(q, rotation)
    rotated = mat.strong(mat.matmul(mat.adjoint(q), t))
    dr = mat.triu(binary.sub(rotated, mat.matmul(rotation, r)))
    return outs, [dq, dr, *map(rules.zero_tangent, order)]


def real_of(x: mat.Val) -> mat.Val | Array:
    """Returns the real part of `x`, in the dtype of `x`."""
    return convert_element_type(unary.real(x), mat.dtype_of(x)) if mat.is_complex(x) else x


# --- eigh -----------------------------------------------------------------------------------------

eigh_p = declare("eigh", multiple_results=True)
eigh_p.sharding(sharding_rules.batch_of(2))


def _chosen(subset: tuple[int, int] | None, size: int) -> int:
    return size if subset is None else subset[1] - subset[0]


@eigh_p.abstract
def _eigh_abstract(
    x: ShapedArray,
    *,
    lower: bool,
    subset_by_index: tuple[int, int] | None,
    sort_eigenvalues: bool,
    algorithm: object,
) -> list[ShapedArray]:
    batch, n = square("eigh", x)
    d = _chosen(subset_by_index, n)
    return [shaped_array((*batch, n, d), x.dtype), shaped_array((*batch, d), _real(x.dtype))]


def _eigh(
    x: np.ndarray,
    *,
    lower: bool,
    subset_by_index: tuple[int, int] | None,
    sort_eigenvalues: bool,
    algorithm: object,
) -> list[np.ndarray]:
    vectors, values = reference.eigh(x, lower)
    if subset_by_index is None:
        return [vectors, values]
    chosen = slice(*subset_by_index)
    return [vectors[..., chosen], values[..., chosen]]


def _eigh_routine(
    x: ShapedArray, *, lower: bool, subset_by_index: tuple[int, int] | None, **_: Any
) -> Routine | None:
    if subset_by_index is not None:
        return None
    return lapack.routine("eigh", x.shape[-1], lower, lapack.fill_lanes(x.shape))


matrix_function(eigh_p, _eigh, _eigh_routine)


@eigh_p.jvp
def _eigh_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    vectors, values = outs = eigh_p.bind(x, **params)
    if isinstance(t, Zero):
        return zero_tangents(outs)
    n = shape_of(x)[-1]
    if _chosen(params["subset_by_index"], n) != n:
        raise NotImplementedError(
            "eigh with `subset_by_index` has no derivative, since that depends on all eigenvectors; "
            "differentiate eigh without it, and select the subset from the result"
        )
    inner = mat.matmul(mat.adjoint(vectors), mat.matmul(mat.symmetrize(t), vectors))
    values_ = convert_element_type(values, mat.dtype_of(x))
    gaps = binary.sub(mat.as_row(values_), mat.as_column(values_))
    rotation = binary.mul(off_diagonal_inverse(gaps), mat.strong(inner))
    dvectors = mat.matmul(vectors, rotation)
    diagonal = mat.diagonal(inner)
    return outs, [dvectors, unary.real(diagonal) if mat.is_complex(x) else diagonal]


def off_diagonal_inverse(gaps: Value) -> Array:
    """Computes 1 / gaps for elements off the diagonal, and 0 on the diagonal."""
    n = shape_of(gaps)[-1]
    unit = mat.eye(n, n, gaps)
    return binary.sub(powers.integer_pow(binary.add(gaps, unit), -1), unit)


# --- systems -------------------------------------------------------------------------------------


def solve(a: Value, b: Value) -> Array:
    """Computes a^-1 @ b, for operands with equal batch axes."""
    factors, _, order = lu_p.bind(a)
    x = solve_triangular(factors, mat.take_rows(b, order), left_side=True, lower=True, unit=True)
    return solve_triangular(factors, x, left_side=True, lower=False)


# --- svd ------------------------------------------------------------------------------------------

svd_p = declare("svd", multiple_results=True)
svd_p.sharding(sharding_rules.batch_of(2))


@svd_p.abstract
def _svd_abstract(
    x: ShapedArray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: object,
) -> list[ShapedArray]:
    batch, m, n = _matrix("svd", x)
    k = _chosen(subset_by_index, min(m, n))
    values = shaped_array((*batch, k), _real(x.dtype))
    if not compute_uv:
        return [values]
    rows, columns = (m, n) if full_matrices else (k, k)
    left, right = (*batch, m, rows), (*batch, columns, n)
    return [values, shaped_array(left, x.dtype), shaped_array(right, x.dtype)]


def _svd(
    x: np.ndarray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    algorithm: object,
) -> list[np.ndarray]:
    if subset_by_index is None:
        return reference.svd(x, full_matrices, compute_uv)
    chosen = slice(*subset_by_index)
    values, *vectors = reference.svd(x, False, compute_uv)
    if vectors:
        vectors = [vectors[0][..., chosen], vectors[1][..., chosen, :]]
    return [values[..., chosen], *vectors]


def _svd_routine(
    x: ShapedArray,
    *,
    full_matrices: bool,
    compute_uv: bool,
    subset_by_index: tuple[int, int] | None,
    **_: Any,
) -> Routine | None:
    if subset_by_index is not None:
        return None
    m, n = x.shape[-2:]
    k = min(m, n)
    vectors = (-1, -1) if not compute_uv else (m, n) if full_matrices else (k, k)
    return lapack.routine("svd", m, n, *vectors, not compute_uv or lapack.fill_lanes(x.shape))


matrix_function(svd_p, _svd, _svd_routine)


@svd_p.jvp
def _svd_jvp(
    primals: Primals, tangents: Tangents, *, full_matrices: bool, compute_uv: bool, **params: object
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    m, n = shape_of(x)[-2:]
    if isinstance(t, Zero):
        outs = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv, **params)
        return zero_tangents(outs)
    if params["subset_by_index"] is not None:
        raise NotImplementedError(
            "svd with `subset_by_index` has no derivative, since that depends on all singular "
            "vectors; differentiate svd without it, and select the subset from the result"
        )
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            "svd: with full_matrices=True, the singular vectors beyond the first min(m, n) are not "
            "unique, so they have no derivative; pass full_matrices=False"
        )
    values, u, vh = svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    v = mat.adjoint(vh)
    inner = mat.matmul(mat.adjoint(u), mat.matmul(t, v))
    diagonal = mat.diagonal(inner)
    dvalues = unary.real(diagonal) if mat.is_complex(x) else diagonal
    if not compute_uv:
        return [values], [dvalues]
    inner = mat.strong(inner)
    s = convert_element_type(values, mat.dtype_of(x))
    row, column = mat.as_row(s), mat.as_column(s)
    gaps = binary.mul(binary.add(row, column), binary.sub(row, column))
    inverse = off_diagonal_inverse(gaps)
    by_row, by_column = binary.mul(row, inner), binary.mul(column, inner)
    turn_u = binary.mul(inverse, binary.add(by_row, mat.adjoint(by_row)))
    turn_v = binary.mul(inverse, binary.add(by_column, mat.adjoint(by_column)))
    is_zero = convert_element_type(_is_zero(row), mat.dtype_of(x))
    reciprocal = binary.sub(powers.integer_pow(binary.add(row, is_zero), -1), is_zero)
    if mat.is_complex(x):
        phase = mat.only_diagonal(binary.sub(inner, mat.adjoint(inner)))
        half = binary.mul(reciprocal, mat.scalar(x, 0.5))
        turn_u = binary.add(turn_u, binary.mul(phase, half))
    du, dv = mat.matmul(u, turn_u), mat.matmul(v, turn_v)
    if m > n:
        du = binary.add(du, _outside(u, mat.matmul(t, v), reciprocal))
    if n > m:
        dv = binary.add(dv, _outside(v, mat.matmul(mat.adjoint(t), u), reciprocal))
    return [values, u, vh], [dvalues, du, mat.adjoint(dv)]


def _is_zero(x: Value) -> Array:
    from jitney.primitives.elementwise.compare import eq

    return eq(x, mat.scalar(x, 0))


def _outside(basis: Value, x: Value, factors: Value) -> Array:
    """Projects the columns of `x` onto the complement of `basis`, and scales them by `factors`."""
    inside = mat.matmul(basis, mat.matmul(mat.adjoint(basis), x))
    return binary.mul(mat.strong(binary.sub(x, inside)), factors)


# --- without derivatives ---------------------------------------------------------------------------

geqrf_p = declare("geqrf", multiple_results=True)
householder_product_p = declare("householder_product")
hessenberg_p = declare("hessenberg", multiple_results=True)
tridiagonal_p = declare("tridiagonal", multiple_results=True)
schur_p = declare("schur", multiple_results=True)
cholesky_update_p = declare("cholesky_update")


@geqrf_p.abstract
def _geqrf_abstract(x: ShapedArray) -> list[ShapedArray]:
    batch, m, n = _matrix("geqrf", x)
    return [shaped_array(x.shape, x.dtype), shaped_array((*batch, min(m, n)), x.dtype)]


@householder_product_p.abstract
def _householder_product_abstract(x: ShapedArray, taus: ShapedArray) -> ShapedArray:
    _, m, n = _matrix("householder_product", x)
    if taus.dtype != x.dtype or not taus.ndim:
        raise TypeError(
            "householder_product: `taus` must be vectors with the dtype of the matrices, but the "
            f"operands are {taus.str_short()} and {x.str_short()}"
        )
    if m < n or taus.shape[-1] > n:
        raise TypeError(
            "householder_product: matrices must not have more columns than rows, and `taus` must not "
            f"be longer than their number of columns, but the shapes are {x.shape} and {taus.shape}"
        )
    return shaped_array(x.shape, x.dtype)


@hessenberg_p.abstract
def _hessenberg_abstract(x: ShapedArray) -> list[ShapedArray]:
    batch, n = square("hessenberg", x)
    return [shaped_array(x.shape, x.dtype), shaped_array((*batch, max(n - 1, 0)), x.dtype)]


@tridiagonal_p.abstract
def _tridiagonal_abstract(x: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    batch, n = square("tridiagonal", x)
    if n == 0:
        raise TypeError("tridiagonal: the matrices must not be empty")
    real = _real(x.dtype)
    return [
        shaped_array(x.shape, x.dtype), shaped_array((*batch, n), real),
        shaped_array((*batch, n - 1), real), shaped_array((*batch, n - 1), x.dtype),
    ]  # fmt: skip


@schur_p.abstract
def _schur_abstract(x: ShapedArray, *, compute_schur_vectors: bool, **_: Any) -> list[ShapedArray]:
    square("schur", x)
    return [shaped_array(x.shape, x.dtype)] * (1 + compute_schur_vectors)


def _schur(x: np.ndarray, *, compute_schur_vectors: bool, **_: Any) -> list[np.ndarray]:
    return reference.schur(x, compute_schur_vectors)


@cholesky_update_p.abstract
def _cholesky_update_abstract(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    _, n = square("cholesky_update", r)
    if w.shape[-1:] != (n,):
        raise ValueError(
            f"cholesky_update: the last axis of `w` must have size {n}, as the matrix has shape "
            f"{r.shape}, but `w` has shape {w.shape}"
        )
    if w.dtype != r.dtype:
        raise TypeError(
            "cholesky_update: `w` must have the dtype of the matrices, but the operands are "
            f"{w.str_short()} and {r.str_short()}"
        )
    return shaped_array(r.shape, r.dtype)


def _geqrf_routine(x: ShapedArray) -> Routine:
    return lapack.routine("geqrf", *x.shape[-2:])


def _householder_product_routine(x: ShapedArray, taus: ShapedArray) -> Routine:
    return lapack.routine("householder_product", *x.shape[-2:], taus.shape[-1])


matrix_function(geqrf_p, reference.geqrf, _geqrf_routine)
matrix_function(householder_product_p, reference.householder_product, _householder_product_routine)
no_derivative(geqrf_p)
no_derivative(householder_product_p)


def _hessenberg_routine(x: ShapedArray) -> Routine:
    return lapack.routine("hessenberg", x.shape[-1])


def _tridiagonal_routine(x: ShapedArray, *, lower: bool) -> Routine:
    return lapack.routine("tridiagonal", x.shape[-1], lower)


def _schur_routine(x: ShapedArray, *, compute_schur_vectors: bool, **_: object) -> Routine:
    return lapack.routine("schur", x.shape[-1], compute_schur_vectors)


def _cholesky_update_routine(r: ShapedArray, w: ShapedArray) -> Routine:
    return lapack.routine("cholesky_update", r.shape[-1])


matrix_function(hessenberg_p, reference.hessenberg, _hessenberg_routine)
matrix_function(tridiagonal_p, reference.tridiagonal, _tridiagonal_routine)
matrix_function(schur_p, _schur, _schur_routine)
matrix_function(cholesky_update_p, reference.cholesky_update, _cholesky_update_routine)
for _prim in (hessenberg_p, tridiagonal_p, schur_p, cholesky_update_p):
    no_derivative(_prim)
