"""Helpers for all sparse formats: static data, warnings, and `vmap` over batch axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jitney import numpy as jnp
from jitney.api.batching.vmap import vmap
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.util.lazy import listing, refusing
from jitney.core.util.thresholds import threshold
from jitney.core.util.wraps import wraps

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike

R = TypeVar("R")

__all__ = [
    "CuSparseEfficiencyWarning", "Shape", "SparseEfficiencyError", "SparseEfficiencyWarning",
    "SparseInfo", "broadcasting_vmap", "nfold_vmap",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

Shape = tuple[int, ...]
InAxes = int | Sequence[int | None] | None  # `in_axes` of `vmap`, for functions of arrays
Stored = TypeVar("Stored", bound="Array | np.ndarray")


class SparseEfficiencyError(ValueError):
    """The error for operations whose results may store many more elements than their operands."""


class SparseEfficiencyWarning(UserWarning):
    """The warning for operations whose results may store many more elements than their operands."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """The warning that cuSPARSE cannot be used; never emitted on CPUs."""


class SparseInfo(NamedTuple):
    """The static data of a sparse array.

    Attributes:
      shape: shape of the dense array.
      indices_sorted: whether indices are in lexicographic order.
      unique_indices: whether indices are unique.
    """

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


def fitted_shape(shape: Shape, batches: Sequence[Shape], n_rest: int) -> Shape:
    """Returns the shape of a sparse array after batch axes were added to its arrays, or removed.

    `vmap` and `scan` add or remove an axis of each array in a pytree, but they do not adapt the
    shape, which is static data.

    Args:
      shape: previous shape.
      batches: sizes of the batch axes of each array; axes of size 1 broadcast.
      n_rest: number of trailing axes of the shape that are not batch axes.
    """
    old, trailing = shape[: max(0, len(shape) - n_rest)], shape[max(0, len(shape) - n_rest) :]
    n_added = len(batches[0]) - len(old)
    if n_added > 0:
        return (*np.broadcast_shapes(*batches)[:n_added], *shape)

    def fits(batch: Shape) -> bool:
        return all(n in (1, m) for sizes in batches for n, m in zip(sizes, batch, strict=True))

    if n_added < 0:
        # Prefers to keep leading axes; if several choices fit, their sizes are equal.
        for axes in reversed(list(itertools.combinations(range(len(old)), len(batches[0])))):
            batch = tuple(old[k] for k in axes)
            if fits(batch):
                return (*batch, *trailing)
    return shape


def broadcasting_vmap(
    fun: Callable[..., R], in_axes: InAxes = 0, out_axes: int = 0
) -> Callable[..., R]:
    """Maps a function like `vmap`, but broadcasts mapped axes of size 1.

    Args:
      fun: a function of arrays.
      in_axes: mapped axis of each argument, or None if it is not mapped; or one value for all.
      out_axes: as for `vmap`.

    Raises:
      ValueError: when the function is called, if mapped axes have different sizes other than 1.

    Example:
      >>> sparse.util.broadcasting_vmap(jnp.add)(jnp.ones((1, 2)), jnp.zeros((3, 2))).shape
      (3, 2)
    """

    @wraps(fun)
    def batched(*args: Array) -> R:
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else in_axes
        extents = {x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None}
        wide = extents - {1}
        if len(wide) > 1:
            raise ValueError(
                f"broadcasting_vmap: mapped axes must have equal sizes, or size 1, but got {extents}"
            )
        if not wide:
            return vmap(fun, in_axes=tuple(axes), out_axes=out_axes)(*args)
        spread = [d is not None and x.shape[d] == 1 for x, d in zip(args, axes, strict=True)]
        squeezed = [
            jnp.squeeze(x, d) if s else x for x, d, s in zip(args, axes, spread, strict=True)
        ]
        mapped = tuple([None if s else d for d, s in zip(axes, spread, strict=True)])
        return vmap(fun, in_axes=mapped, out_axes=out_axes)(*squeezed)

    return batched


def nfold_vmap(
    fun: Callable[..., R], N: int, *, broadcasted: bool = True, in_axes: InAxes = 0
) -> Callable[..., R]:
    """Returns `fun` mapped over the first `N` axes of its arguments.

    Args:
      fun: a function of arrays.
      N: number of axes.
      broadcasted: whether to broadcast mapped axes of size 1, as in `broadcasting_vmap`.
      in_axes: 0, or a sequence with 0 for each argument that is mapped and None for the others.

    Example:
      >>> sparse.util.nfold_vmap(jnp.sum, 2)(jnp.ones((2, 3, 4))).shape
      (2, 3)
    """
    mapped = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = mapped(fun, in_axes=in_axes)
    return fun


def count_stored(mat: Array, n_batch: int, n_dense: int, name: str) -> int:
    """Returns the largest number of nonzero elements, or nonzero blocks, in a batch of `mat`.

    Raises:
      ConcretizationTypeError: if the elements of `mat` are unknown, because it is traced.
    """
    known = concrete_or_error(None, mat, f"{name}: nse must be given if the array is traced.")
    stored = stored_mask(np.asarray(known), n_dense)
    counts = stored.sum(axis=tuple(range(n_batch, stored.ndim)))
    return int(counts.max(initial=0))


def stored_mask(mat: Stored, n_dense: int) -> Stored:
    """Returns a mask of the nonzero elements of `mat`, or of nonzero blocks of rank `n_dense`."""
    mask: Any = mat != 0
    return mask.any(axis=tuple(range(mask.ndim - n_dense, mask.ndim))) if n_dense else mask


# Sums of at least _MANY elements are split into up to _MAX_PARTS partial sums, each with at least
# _ELEMENTS_PER_RESULT elements for each element of the result.
_MANY, _MAX_PARTS, _ELEMENTS_PER_RESULT = threshold(1 << 18, small=16), 8, 4


def scatter_sum(
    shape: Sequence[int],
    at: tuple[Array, ...],
    values: Array,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """Sums `values` [n, ...] at given positions of an array of `shape`.

    Positions beyond the shape are ignored. The sum of booleans is their logical or. Large sums are
    split into partial sums that several threads compute; their number depends only on shapes, so
    that results are reproducible.
    """
    flags = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    zeros = jnp.zeros(shape, values.dtype)
    parts = 1
    if values.size >= _MANY and not unique_indices:
        parts = min(_MAX_PARTS, values.size // (_ELEMENTS_PER_RESULT * max(zeros.size, 1)))
    if parts < 2:
        return _added(zeros, at, values, flags)
    each = values.shape[0] // parts
    end = parts * each

    def divided(x: Array) -> Array:
        return x[:end].reshape(parts, each, *x.shape[1:])

    sums = vmap(lambda at, values: _added(zeros, at, values, flags))(
        tuple([divided(x) for x in at]), divided(values)
    )
    total = sums.any(0) if sums.dtype == bool else jnp.sum(sums, axis=0, dtype=sums.dtype)
    if end == values.shape[0]:
        return total
    return _added(total, tuple([x[end:] for x in at]), values[end:], flags)


def _added(into: Array, at: tuple[Array, ...], values: Array, flags: dict[str, bool]) -> Array:
    place = into.at[at]
    add = place.max if into.dtype == bool else place.add
    return add(
        values,
        mode="drop",
        indices_are_sorted=flags["indices_are_sorted"],
        unique_indices=flags["unique_indices"],
    )


def row_pointers(rows: Array, n_rows: int, index_dtype: DTypeLike) -> Array:
    """Returns the row pointers [n_rows + 1] for sorted `rows` [nse]; padding is not counted."""
    counts = jnp.zeros(n_rows, index_dtype).at[rows].add(1, mode="drop")
    return jnp.concatenate([jnp.zeros(1, index_dtype), jnp.cumsum(counts, dtype=index_dtype)])


def rows_of(indptr: Array, nse: int) -> Array:
    """Returns the row of each of `nse` stored elements; for padding, the number of rows."""
    starts = jnp.zeros(nse, indptr.dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(starts, dtype=indptr.dtype)


def check_permutation(name: str, axes: Sequence[int], ndim: int) -> Shape:
    """Returns `axes` as a tuple after checking that it is a permutation.

    Raises:
      ValueError: if `axes` is not a permutation of the `ndim` axes.
    """
    out = tuple(int(a) for a in axes)
    if sorted(out) != list(range(ndim)):
        raise ValueError(f"{name}: expected a permutation of {ndim} axes, but got {out}")
    return out
