"""Helpers of all sparse formats: descriptions, warnings, `vmap` over batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from jitney import numpy as jnp
from jitney.api.vmap import vmap
from jitney.core.lazy import listing, refusing
from jitney.core.thresholds import threshold
from jitney.core.trace import concrete_or_error
from jitney.core.wraps import wraps

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike

__all__ = [
    "CuSparseEfficiencyWarning", "Shape", "SparseEfficiencyError", "SparseEfficiencyWarning",
    "SparseInfo", "broadcasting_vmap", "nfold_vmap",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

Shape = tuple[int, ...]
InAxes = int | Sequence[int | None] | None  # of `vmap`, of functions of arrays
Stored = TypeVar("Stored", bound="Array | np.ndarray")


class SparseEfficiencyError(ValueError):
    """An operation would store many more elements than its operands do."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores many more elements than its operands do."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A library for GPUs is not used; never given on CPUs."""


class SparseInfo(NamedTuple):
    """The static description of a sparse array.

    Attributes:
      shape: of the array.
      indices_sorted: whether stored positions are in lexicographic order.
      unique_indices: whether no position is stored twice.
    """

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


def fitted_shape(shape: Shape, batches: Sequence[Shape], n_rest: int) -> Shape:
    """Returns the shape of a sparse array whose arrays have lost or got batch axes.

    `vmap` and `scan` remove an axis of every array of a pytree, or add one; they do not change the
    shape that is stored beside them.

    Args:
      shape: before.
      batches: sizes of the batch axes that each array has now; 1 stands for any size.
      n_rest: how many of the last axes of the shape are not batch axes.
    """
    old, trailing = shape[: max(0, len(shape) - n_rest)], shape[max(0, len(shape) - n_rest) :]
    n_added = len(batches[0]) - len(old)
    if n_added > 0:
        return (*np.broadcast_shapes(*batches)[:n_added], *shape)

    def fits(batch: Shape) -> bool:
        return all(n in (1, m) for sizes in batches for n, m in zip(sizes, batch, strict=True))

    if n_added < 0:
        # Those in front first: where several fit, they have equal sizes.
        for axes in reversed(list(itertools.combinations(range(len(old)), len(batches[0])))):
            batch = tuple(old[k] for k in axes)
            if fits(batch):
                return (*batch, *trailing)
    return shape


def broadcasting_vmap(
    fun: Callable[..., Any], in_axes: InAxes = 0, out_axes: int = 0
) -> Callable[..., Any]:
    """`vmap` that takes a mapped axis of size 1 for an axis of any size.

    Args:
      fun: takes and returns arrays.
      in_axes: the mapped axis of each argument, None for those that are not mapped; or one for all.
      out_axes: as for `vmap`.

    Raises:
      ValueError: when the function is called, if sizes differ and are not 1.

    Example:
      >>> sparse.util.broadcasting_vmap(jnp.add)(jnp.ones((1, 2)), jnp.zeros((3, 2))).shape
      (3, 2)
    """

    @wraps(fun)
    def batched(*args: Array) -> Any:
        axes = [in_axes] * len(args) if in_axes is None or isinstance(in_axes, int) else in_axes
        extents = {x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None}
        wide = extents - {1}
        if len(wide) > 1:
            raise ValueError(f"broadcasting_vmap: mapped axes must be of one size, or 1: {extents}")
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
    fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: InAxes = 0
) -> Callable[..., Any]:
    """Returns `fun` mapped over `N` axes, the first of its arguments.

    Args:
      fun: takes and returns arrays.
      N: how many axes.
      broadcasted: whether axes of size 1 stand for any size (`broadcasting_vmap`).
      in_axes: 0, or a sequence of 0 and None: which arguments are mapped over.

    Example:
      >>> sparse.util.nfold_vmap(jnp.sum, 2)(jnp.ones((2, 3, 4))).shape
      (2, 3)
    """
    mapped = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = mapped(fun, in_axes=in_axes)
    return fun


def count_stored(mat: Array, n_batch: int, n_dense: int, name: str) -> int:
    """Returns the largest number of nonzero elements (blocks of dense axes) of a batch of `mat`.

    Raises:
      ConcretizationTypeError: if `mat` is traced.
    """
    concrete_or_error(None, mat, f"{name}: nse must be given where the array is traced.")
    stored = stored_mask(np.asarray(mat), n_dense)
    counts = stored.sum(axis=tuple(range(n_batch, stored.ndim)))
    return int(counts.max(initial=0))


def stored_mask(mat: Stored, n_dense: int) -> Stored:
    """Returns the mask where `mat`, or a block of its last `n_dense` axes, is not zero."""
    mask: Any = mat != 0
    return mask.any(axis=tuple(range(mask.ndim - n_dense, mask.ndim))) if n_dense else mask


# Sums of so many elements are made in parts, each of so many elements for each of the result.
_MANY, _MAX_PARTS, _ELEMENTS_PER_RESULT = threshold(1 << 18, small=16), 8, 4


def scatter_sum(
    shape: Sequence[int],
    at: tuple[Array, ...],
    values: Array,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
) -> Array:
    """`values` [n, ...] added up at positions of an array of `shape`; those beyond it are dropped.

    The sum of truth values is whether there is one. Sums of many values are made in parts, which
    threads can work on; how many there are depends on shapes alone, and so do the results.
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
    """Returns the row pointers [n_rows + 1] of sorted `rows` [nse], without rows beyond the last."""
    counts = jnp.zeros(n_rows, index_dtype).at[rows].add(1, mode="drop")
    return jnp.concatenate([jnp.zeros(1, index_dtype), jnp.cumsum(counts, dtype=index_dtype)])


def rows_of(indptr: Array, nse: int) -> Array:
    """The row of each of `nse` stored elements; those behind the last row get the number of rows."""
    starts = jnp.zeros(nse, indptr.dtype).at[indptr[1:]].add(1, mode="drop")
    return jnp.cumsum(starts, dtype=indptr.dtype)


def check_permutation(name: str, axes: Sequence[int], ndim: int) -> Shape:
    """Returns `axes` as a tuple.

    Raises:
      ValueError: if it is not a permutation of the axes.
    """
    out = tuple(int(a) for a in axes)
    if sorted(out) != list(range(ndim)):
        raise ValueError(f"{name}: permutation must be one of {ndim} axes, but got {out}")
    return out
