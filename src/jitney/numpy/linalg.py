"""`jax.numpy.linalg`: linear algebra with NumPy's API; functions of matrices accept batches.

Integers are promoted to the default float. `inv`, `solve` and `det` are differentiated by solving
linear systems.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.api.jit.repeated import publish
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy import products, promotion
from jitney.numpy.decompositions import (
    EighResult as EighResult,
    EigResult as EigResult,
    QRResult as QRResult,
    SVDResult as SVDResult,
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    qr as qr,
    svd as svd,
    svdvals as svdvals,
)
from jitney.numpy.determinants import (
    SlogdetResult as SlogdetResult,
    det as det,
    slogdet as slogdet,
)
from jitney.numpy.linear_systems import (
    inv as inv,
    lstsq as lstsq,
    pinv as pinv,
    solve as solve,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
from jitney.numpy.matrix_norms import (
    matrix_norm as matrix_norm,
    norm as norm,
    vector_norm as vector_norm,
)
from jitney.numpy.matrix_operands import inexact as _inexact, of_dtype as _of_dtype
from jitney.numpy.matrix_products import (
    cross as cross,
    diagonal as diagonal,
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    multi_dot as multi_dot,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vecdot as vecdot,
)
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.linalg import matrix_helpers as mat
from jitney.primitives.reduction.reduce import reduce_sum

__dir__ = listing(__name__)

# --- numbers --------------------------------------------------------------------------------------


@jit_when_traced(static_argnames=("p",))
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """Computes the condition numbers of matrices.

    Args:
      x: matrices of shape (..., m, n), square unless `p` is None, 2 or -2.
      p: the order of the norm; see `norm`. None means 2, for which the result is the largest
        singular value divided by the smallest.

    Returns: an array of shape (...) and a float dtype.

    Raises:
      ValueError: if `x` has rank less than 2, the matrices have no elements, or they are not square
        for a `p` that requires it.

    Example:
      >>> jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
      Array(2., dtype=float32)
    """
    promotion.check_arraylike("cond", x)
    x = _inexact("cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: `x` must be a matrix or a batch of matrices, but it has shape {x.shape}"
        )
    if 0 in x.shape[-2:]:
        raise ValueError(
            f"jnp.linalg.cond: matrices must have elements, but `x` has shape {x.shape}"
        )
    if p is None or p in (2, -2):
        s = svdvals(x)
        out = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        return _infinite_unless_nan(out, x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"jnp.linalg.cond: for {p=}, matrices must be square, but `x` has shape {x.shape}; "
            "use p=None or p=2 for other shapes"
        )
    out = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    return _infinite_unless_nan(out, x)


def _infinite_unless_nan(out: Array, x: Array) -> Array:
    """Replaces NaN in condition numbers by infinity, except where the matrix contains NaN."""
    has_nan = reduce_sum(convert(x != x, np.dtype(np.int32)), (x.ndim - 2, x.ndim - 1)) > 0
    return where((out != out) & ~has_nan, _of_dtype(math.inf, out), out)


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Computes the ranks of matrices: the numbers of singular values above a tolerance.

    Args:
      M: matrices of shape (..., m, n). The rank of a vector or scalar is 1 if it has a nonzero
        element, and 0 otherwise.
      rtol: the relative tolerance: singular values up to `rtol` times the largest one count as 0;
        max(m, n) * eps by default.
      hermitian: whether `M` is known to be Hermitian.
      tol: a legacy alias of `rtol`.

    Returns: an array of shape (...) and the default integer dtype; int32 for a scalar or vector.

    Raises:
      ValueError: if both `rtol` and `tol` are given.

    Example:
      >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    """
    if rtol is not None and tol is not None:
        raise ValueError(
            "jnp.linalg.matrix_rank: `rtol` and `tol` are two names for one tolerance, but both "
            "were passed; omit `tol`"
        )
    m = _inexact("matrix_rank", M)
    count = dtypes.canonicalize_dtype(np.dtype(np.int64))
    if m.ndim < 2:
        return convert(reduce_sum(convert(m != 0, np.dtype(np.int32)), tuple(range(m.ndim))) > 0,
                       np.dtype(np.int32))  # fmt: skip
    s = svd(m, full_matrices=False, compute_uv=False, hermitian=hermitian)
    rtol = tol if rtol is None else rtol
    if s.shape[-1] == 0:
        return reduce_sum(convert(s, count), (s.ndim - 1,))
    if rtol is None:
        rtol = max(m.shape[-2:]) * float(dtypes.finfo(s.dtype).eps)
    limit = s[..., 0] * convert(as_value(rtol), s.dtype)
    return reduce_sum(convert(s > limit[..., None], count), (s.ndim - 1,))


@jit_when_traced(static_argnames=("n",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Computes the integer power `n` of square matrices by repeated squaring.

    Args:
      a: matrices of shape (..., n, n).
      n: the exponent, which must be static; if it is negative, the inverse is raised to the power
        -n.

    Raises:
      TypeError: if `a` is not square or `n` is not an integer.

    Example:
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 5)
      Array([[8, 5],
             [5, 3]], dtype=int32)
    """
    promotion.check_arraylike("jnp.linalg.matrix_power", a)
    x = as_value(a)
    if x.ndim < 2:
        raise TypeError(
            "jnp.linalg.matrix_power: `a` must be a matrix or a batch of matrices, but it has "
            f"shape {x.shape}"
        )
    if x.shape[-2] != x.shape[-1]:
        raise TypeError(
            f"jnp.linalg.matrix_power: matrices must be square, but `a` has shape {x.shape}"
        )
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(
            f"jnp.linalg.matrix_power: `n` must be an integer, but it is {n!r}"
        ) from error
    if n == 0:
        return mat.eye(x.shape[-2], x.shape[-2], x)
    if n < 0:
        x, n = inv(x), -n
    out: Any = None
    while True:
        if n & 1:
            out = x if out is None else products.matmul(out, x)
        n >>= 1
        if not n:
            return out
        x = products.matmul(x, x)


for _name in list(globals()):
    _value = globals()[_name]
    if not _name.startswith("_") and str(getattr(_value, "__module__", "")).startswith(
        "jitney.numpy."
    ):
        _value.__module__ = "jax.numpy.linalg"


publish(globals())
