"""Eigenvalues of symmetric tridiagonal matrices."""

from __future__ import annotations

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex, promote_dtypes_inexact
from jitney.primitives.elementwise.convert import as_value


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:
    """Computes the eigenvalues and eigenvectors of a tridiagonal Hermitian matrix.

    If only eigenvalues are requested, they are found by bisection with Sturm sequences (Barth,
    Martin and Wilkinson, Numerische Mathematik 9 (1967), 386-393), without forming the matrix.
    Otherwise the dense matrix is formed and decomposed.

    Args:
      d: diagonal [n].
      e: subdiagonal [n - 1], real or complex.
      eigvals_only: whether to return the eigenvalues alone.
      select: "a" for all eigenvalues, "i" for those with indices in `select_range`.
      select_range: (first, last) index, both inclusive.
      tol: absolute error of the eigenvalues found by bisection; by default the precision of the
        dtype.
      key: accepted for compatibility; the algorithm is deterministic.

    Returns: eigenvalues [k] in ascending order, and eigenvectors [n, k]; or the eigenvalues alone.

    Raises:
      TypeError: if the shapes of d and e do not match.
      ValueError: if `select` is unknown, or `select_range` is missing or out of bounds.
      NotImplementedError: if `select` is "v"; the shape of the result would depend on values.

    Example:
      >>> jax.scipy.linalg.eigh_tridiagonal(jnp.zeros(2), jnp.ones(1), eigvals_only=True).round(4)
      Array([-1.,  1.], dtype=float32)
    """
    del key
    diagonal, off = (as_value(x) for x in promote_dtypes_inexact(d, e))
    if diagonal.ndim != 1 or off.shape != (max(diagonal.shape[0] - 1, 0),):
        raise TypeError(
            "eigh_tridiagonal: d must be a vector, and e a vector of one element fewer, but got "
            f"shapes {diagonal.shape} and {off.shape}"
        )
    n = diagonal.shape[0]
    first, last = _range(n, select, select_range)
    main = diagonal.real if is_complex(diagonal.dtype) else diagonal
    if eigvals_only:
        return _bisect(main, jnp.square(jnp.abs(off)), first, last, tol)
    matrix = jnp.diag(diagonal) + jnp.diag(off, -1) + jnp.diag(jnp.conj(off), 1)
    vectors, values = lax.linalg.eigh(matrix, symmetrize_input=False)
    return values[first : last + 1], vectors[:, first : last + 1]


def _range(n: int, select: str, bounds: tuple[float, float] | None) -> tuple[int, int]:
    if select == "a":
        return 0, n - 1
    if select == "v":
        raise NotImplementedError(
            "eigh_tridiagonal: select='v' is not supported, because the number of results would "
            "depend on values; use 'a' or 'i'"
        )
    if select != "i":
        raise ValueError(f"eigh_tridiagonal: `select` must be 'a' or 'i', but got {select!r}")
    if bounds is None:
        raise ValueError(
            "eigh_tridiagonal: select='i' requires `select_range`, the first and the last index of "
            "the eigenvalues"
        )
    first, last = int(bounds[0]), int(bounds[1])
    if first > last or first < 0 or last >= n:
        raise ValueError(
            f"eigh_tridiagonal: `select_range` must be two indices k with 0 <= k < {n}, the lower "
            f"first, but got {bounds}"
        )
    return first, last


def _bisect(main: Array, squares: Array, first: int, last: int, tol: float | None) -> Array:
    """Computes the eigenvalues with indices `first` to `last`; `squares` are |e|^2."""
    n, dtype = main.shape[0], main.dtype
    count = last - first + 1
    if n == 0:
        return main
    limits = dtypes.finfo(dtype)
    roots = jnp.sqrt(squares)
    # Gershgorin circles
    zero = jnp.zeros(1, dtype)
    radius = jnp.concatenate([roots, zero]) + jnp.concatenate([zero, roots])
    low, high = jnp.min(main - radius), jnp.max(main + radius)
    width = jnp.maximum(jnp.abs(low), jnp.abs(high))
    margin = 2 * n * float(limits.eps) * width + 2 * float(limits.tiny)
    accuracy = float(limits.eps) * width if tol is None else jnp.asarray(tol, dtype)
    # A lower bound of pivots, so that quotients do not overflow
    least = float(limits.tiny) * jnp.maximum(jnp.max(squares, initial=0), 1)
    indices = jnp.arange(first, last + 1)

    def below(x: Array) -> Array:
        """Counts the eigenvalues less than each element of `x`: the negative pivots of T - x."""

        def step(
            carry: tuple[Array, Array], row: tuple[Array, Array]
        ) -> tuple[tuple[Array, Array], None]:
            pivot, negative = carry
            center, square = row
            pivot = center - square / pivot - x
            pivot = jnp.where(jnp.abs(pivot) < least, -least, pivot)
            return (pivot, negative + (pivot < 0)), None

        rows = main, jnp.concatenate([zero, squares])
        start = jnp.ones(count, dtype), jnp.zeros(count, np.int32)
        return lax.scan(step, start, rows)[0][1]

    def is_wide(carry: tuple[Array, Array, Array]) -> Array:
        k, lower, upper = carry
        return (k < 200) & jnp.any(upper - lower > accuracy)

    def halve(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        k, lower, upper = carry
        middle = lower + 0.5 * (upper - lower)
        is_less = below(middle) <= indices
        return k + 1, jnp.where(is_less, middle, lower), jnp.where(is_less, upper, middle)

    ends = jnp.full(count, low - margin), jnp.full(count, high + margin)
    _, lower, upper = lax.while_loop(is_wide, halve, (jnp.zeros((), np.int32), *ends))
    return 0.5 * (lower + upper)
