"""Eigenvalues and eigenvectors of general matrices: `eig`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lapack
from jitney.compiler.reference import linalg as reference
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import sharding_rules
from jitney.primitives.array.creation import broadcasted_iota
from jitney.primitives.elementwise import binary, compare, unary
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.elementwise.select import select_n
from jitney.primitives.linalg import factorizations, matrix_helpers as mat
from jitney.primitives.linalg.matrix_functions import matrix_function
from jitney.primitives.reduction.reduce import argmax, reduce_sum
from jitney.primitives.rules import shape_of
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Primals, Tangent, Tangents, Value

_INT32 = np.dtype(np.int32)

eig_p = declare("eig", multiple_results=True)
eig_p.sharding(sharding_rules.batch_of(2))


@eig_p.abstract
def _eig_abstract(
    x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> list[ShapedArray]:
    batch, n = factorizations.square("eig", x)
    dtype = reference.complex_dtype(x.dtype)
    vectors = [shaped_array((*batch, n, n), dtype)]
    many = compute_left_eigenvectors + compute_right_eigenvectors
    return [shaped_array((*batch, n), dtype), *vectors * many]


def _eig(
    x: np.ndarray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> list[np.ndarray]:
    return reference.eig(x, compute_left_eigenvectors, compute_right_eigenvectors)


def _routine(
    x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> lapack.Routine:
    wanted = compute_left_eigenvectors, compute_right_eigenvectors
    return lapack.routine("eig", x.shape[-1], *wanted)


matrix_function(eig_p, _eig, _routine)


@eig_p.jvp
def _eig_jvp(
    primals: Primals, tangents: Tangents, *, compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool, enable_eigvec_derivs: bool, **params: object,
) -> tuple[Sequence[Value], Sequence[Tangent]]:  # fmt: skip
    (x,), (t,) = primals, tangents
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    params["enable_eigvec_derivs"] = enable_eigvec_derivs
    outs = eig_p.bind(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right, **params)
    if isinstance(t, Zero):
        return factorizations.zero_tangents(outs)
    if (left or right) and not enable_eigvec_derivs:
        raise NotImplementedError(
            f"eig: the eigenvectors of a general matrix, here of shape {shape_of(x)}, have derivatives "
            "only if no eigenvalue is repeated, and if the element that is normalized to be real "
            "remains the largest one. Neither condition is checked. If both hold, pass "
            "enable_eigvec_derivs=True to jax.lax.linalg.eig"
        )
    values, vectors = outs[0], outs[-1]
    if not right:
        _, vectors = eig_p.bind(
            x, compute_left_eigenvectors=False, compute_right_eigenvectors=True, **params
        )
    change = convert_element_type(t, mat.dtype_of(vectors))
    inner = factorizations.solve(vectors, mat.matmul(change, vectors))
    tangents_out = [mat.diagonal(inner)]
    if left:  # right eigenvectors of the adjoint, with conjugate eigenvalues
        duals = outs[1]
        dual_inner = factorizations.solve(duals, mat.matmul(mat.adjoint(change), duals))
        tangents_out.append(_change(mat.conj(values), duals, dual_inner))
    if right:
        tangents_out.append(_change(values, vectors, inner))
    return outs, tangents_out


def _change(values: Value, vectors: Value, inner: Value) -> Array:
    """Returns the tangents of eigenvectors V; `inner` is V^-1 @ dA @ V."""
    gaps = binary.sub(mat.as_row(values), mat.as_column(values))
    change = mat.matmul(vectors, binary.mul(factorizations.off_diagonal_inverse(gaps), inner))
    # Eigenvectors keep length 1, ...
    along = mat.diagonal(mat.matmul(mat.adjoint(vectors), change))
    along = mat.as_row(factorizations.real_of(along))
    change = binary.sub(change, binary.mul(vectors, along))
    # ... and their largest element remains real.
    axis = len(shape_of(vectors)) - 2
    largest = argmax(unary.abs(vectors), axis, _INT32)
    chosen = compare.eq(broadcasted_iota(_INT32, shape_of(vectors), axis), mat.as_row(largest))
    zeros = mat.zeros(shape_of(vectors), vectors)
    pick = [reduce_sum(select_n(chosen, zeros, y), (axis,)) for y in (change, vectors)]
    turn = binary.div(binary.sub(pick[0], factorizations.real_of(pick[0])), pick[1])
    return binary.sub(change, binary.mul(vectors, mat.as_row(turn)))
