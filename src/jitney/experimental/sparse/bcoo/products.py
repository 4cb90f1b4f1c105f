"""Primitives of products: `bcoo_dot_general`, `bcoo_dot_general_sampled`, `bcoo_spdot_general`.

A product with a sparse array gathers the elements of the other operand at the stored indices,
multiplies them by the stored elements, and adds the products at the indices of the result. It is
compiled to a single loop over the stored elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.experimental.sparse.bcoo.layout import (
    BCOOProperties,
    columns,
    is_stored,
    padding,
    validate,
)
from jitney.experimental.sparse.composed import composed
from jitney.experimental.sparse.util import nfold_vmap, scatter_sum

if TYPE_CHECKING:
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Array
    from jitney.experimental.sparse.util import Shape, SparseInfo

Axes = tuple[int, ...]
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Pairs:
    """The paired axes of operands x and y of a product.

    The axes of the product are batch axes, free axes of x, and free axes of y.

    Attributes:
      contracted, batch: pairs (axis of x, axis of y).
      x_free, y_free: the other axes of x and of y.
    """

    def __init__(self, numbers: DotDimensionNumbers, x_ndim: int, y_ndim: int) -> None:
        (x_contracted, y_contracted), (x_batch, y_batch) = numbers
        self.contracted = list(zip(map(int, x_contracted), map(int, y_contracted), strict=True))
        self.batch = list(zip(map(int, x_batch), map(int, y_batch), strict=True))
        paired = self.contracted + self.batch
        self.x_free = [k for k in range(x_ndim) if k not in {i for i, _ in paired}]
        self.y_free = [k for k in range(y_ndim) if k not in {j for _, j in paired}]

    def shape(self, x: Sequence[int], y: Sequence[int]) -> Shape:
        """Returns the shape of the product."""
        batch = [x[i] for i, _ in self.batch]
        return (*batch, *[x[i] for i in self.x_free], *[y[j] for j in self.y_free])


def normalized(numbers: DotDimensionNumbers) -> DotDimensionNumbers:
    """Converts dimension numbers to tuples of ints."""
    (a, b), (c, d) = numbers
    return (tuple(map(int, a)), tuple(map(int, b))), (tuple(map(int, c)), tuple(map(int, d)))


def check_pairs(
    name: str, numbers: DotDimensionNumbers, x: Sequence[int], y: Sequence[int]
) -> Pairs:
    """Checks dimension numbers, and returns the paired axes.

    Raises:
      TypeError: if an axis is repeated or out of bounds, or the sizes of paired axes differ.
    """
    for what, k, mine, other in (("contracting", 0, x, y), ("batch", 1, x, y)):
        xs, ys = numbers[k]
        if len(xs) != len(ys):
            raise TypeError(
                f"{name}: the number of {what} axes must be the same for both operands, but got "
                f"dimension_numbers {numbers}"
            )
        if not all(0 <= i < len(mine) for i in xs) or not all(0 <= j < len(other) for j in ys):
            raise TypeError(
                f"{name}: {what} axes are out of bounds for shapes {x} and {y} with "
                f"dimension_numbers {numbers}"
            )
        if any(mine[i] != other[j] for i, j in zip(xs, ys, strict=True)):
            raise TypeError(
                f"{name}: {what} axes must have equal sizes, but got shapes {tuple(x)} and "
                f"{tuple(y)} with dimension_numbers {numbers}"
            )
    for side in (0, 1):
        named = [*numbers[0][side], *numbers[1][side]]
        if len(set(named)) < len(named):
            raise TypeError(f"{name}: an axis occurs twice in dimension_numbers {numbers}")
    return Pairs(numbers, len(x), len(y))


def _moved(x: Array, source: Sequence[int]) -> Array:
    """Returns `x` with the axes `source` moved to the front."""
    others = [k for k in range(x.ndim) if k not in source]
    return jnp.transpose(x, (*source, *others))


def _gathered(y: Array, indices: Array, chosen: Sequence[int]) -> Array:
    """Gathers `y` at the `chosen` columns of the indices: [nse, *remaining axes of y]."""
    if not chosen:
        return jnp.broadcast_to(y[None], (indices.shape[0], *y.shape))
    return y.at[columns(indices, chosen)].get(mode="fill", fill_value=0)


def _dot_general(
    lhs_data: Array,
    lhs_indices: Array,
    rhs: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
    lhs_spinfo: SparseInfo,
) -> Array:
    shape = lhs_spinfo.shape
    p = validate(lhs_data, lhs_indices, shape)
    pairs = Pairs(dimension_numbers, len(shape), rhs.ndim)
    partner = dict(pairs.batch + pairs.contracted)
    dtype = preferred_element_type or rhs.dtype
    lhs_data, rhs = lhs_data.astype(dtype), rhs.astype(dtype)

    # The axes of rhs in the order in which the loops below read them: axes paired with batch axes,
    # with sparse axes, and with dense axes, then free axes.
    first_dense = p.n_batch + p.n_sparse
    over_batch = [partner[k] for k in range(p.n_batch) if k in partner]
    sparse = [k - p.n_batch for k in range(p.n_batch, first_dense) if k in partner]
    dense = [k - first_dense for k in range(first_dense, len(shape)) if k in partner]
    rhs = _moved(
        rhs,
        [
            *over_batch,
            *[partner[k + p.n_batch] for k in sparse],
            *[partner[k + first_dense] for k in dense],
        ],
    )
    free = [k for k in range(p.n_sparse) if k not in sparse]
    extents = [shape[k + p.n_batch] for k in free]

    def of_batch(data: Array, indices: Array, rhs: Array) -> Array:
        gathered = _gathered(rhs, indices, sparse)  # [nse, *dense, *free of rhs]
        n_free = gathered.ndim - 1 - len(dense)
        if not free and not dense and data.ndim == 1:  # weighted sum of rows of rhs
            # Gathering at padding yields zeros, so that its data are ignored.
            return jnp.tensordot(data, gathered, 1)
        if dense:
            contracted = ([k + 1 for k in dense], list(range(1, 1 + len(dense))))
            product = lax.dot_general(data, gathered, (contracted, ([0], [0])))
        else:
            product = data.reshape(*data.shape, *(1,) * n_free) * gathered.reshape(
                gathered.shape[0], *(1,) * (data.ndim - 1), *gathered.shape[1:]
            )
        if not free:
            return jnp.sum(product, axis=0, dtype=dtype)
        return scatter_sum(
            (*extents, *product.shape[1:]), columns(indices, free), product.astype(dtype)
        )

    fun: Any = of_batch
    for k in reversed(range(p.n_batch)):
        fun = nfold_vmap(fun, 1, in_axes=(0, 0, 0 if k in partner else None))
    out = fun(lhs_data, lhs_indices, rhs)
    out = jnp.broadcast_to(out, (*shape[: p.n_batch], *out.shape[p.n_batch :]))
    return _placed(out, pairs, p.n_batch)


def _placed(out: Array, pairs: Pairs, n_batch: int) -> Array:
    """Sums contracted batch axes of `out`, and moves batch axes of the product to the front."""
    summed = [i for i, _ in pairs.contracted if i < n_batch]
    if summed:
        out = jnp.sum(out, axis=tuple(summed), dtype=out.dtype)
    remaining = [k for k in range(n_batch) if k not in summed]
    return _moved(out, [remaining.index(i) for i, _ in pairs.batch])


def product_dtype(name: str, x: ShapedArray, y: ShapedArray, preferred: np.dtype | None) -> DType:
    """Returns the dtype of a product.

    Raises:
      TypeError: if the dtypes of the operands differ, and `preferred` is None.
    """
    if preferred is None and x.dtype != y.dtype:
        raise TypeError(f"{name}: dtypes must be equal, but got {x.dtype} and {y.dtype}")
    return preferred or x.dtype


def dot_type(
    name: str,
    numbers: DotDimensionNumbers,
    shape: Shape,
    n_batch: int,
    data: ShapedArray,
    rhs: ShapedArray,
    preferred: np.dtype | None,
) -> ShapedArray:
    """Returns the type of the product of a sparse array of `shape` and a dense array.

    Raises:
      TypeError: if the sizes of paired axes differ, or dtypes differ.
      NotImplementedError: if a batch axis of the product is not a batch axis of the sparse array.
    """
    pairs = check_pairs(name, numbers, shape, rhs.shape)
    if any(i >= n_batch for i, _ in pairs.batch):
        raise NotImplementedError(
            f"{name}: batch axes of the product must be batch axes of the sparse array, but got "
            f"dimension_numbers {numbers} with {n_batch=}"
        )
    return shaped_array(pairs.shape(shape, rhs.shape), product_dtype(name, data, rhs, preferred))


def _dot_general_type(
    lhs_data: ShapedArray,
    lhs_indices: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
    lhs_spinfo: SparseInfo,
) -> ShapedArray:
    p = validate(lhs_data, lhs_indices, lhs_spinfo.shape)
    return dot_type(
        "bcoo_dot_general", dimension_numbers, lhs_spinfo.shape, p.n_batch, lhs_data, rhs,
        preferred_element_type,
    )  # fmt: skip


bcoo_dot_general_p = composed("bcoo_dot_general", _dot_general, _dot_general_type, linear_in=(0, 2))


def _dot_general_sampled(
    A: Array, B: Array, indices: Array, *, dimension_numbers: DotDimensionNumbers
) -> Array:
    pairs = Pairs(dimension_numbers, A.ndim, B.ndim)
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    # Axis k of the product is axis a_axes[k] of A or axis b_axes[k] of B.
    n_rest = len(pairs.y_free)
    a_axes = [*[i for i, _ in pairs.batch], *pairs.x_free, *[None] * n_rest]
    b_axes = [*[j for _, j in pairs.batch], *[None] * len(pairs.x_free), *pairs.y_free]
    order_a = [i for i in a_axes[: n_batch + n_sparse] if i is not None]
    order_b = [j for j in b_axes[: n_batch + n_sparse] if j is not None]
    contracted_a = [i for i, _ in pairs.contracted]
    contracted_b = [j for _, j in pairs.contracted]
    both = [k for k in range(n_batch + n_sparse, len(a_axes)) if k < len(pairs.batch)]
    batch_a, batch_b = [a_axes[k] for k in both], [b_axes[k] for k in both]
    A = _moved(A, [*order_a, *batch_a, *contracted_a])
    B = _moved(B, [*order_b, *batch_b, *contracted_b])
    sparse_a = [k for k in range(n_sparse) if a_axes[n_batch + k] is not None]
    sparse_b = [k for k in range(n_sparse) if b_axes[n_batch + k] is not None]
    shared = list(range(1, 1 + len(both)))
    summed = list(range(1 + len(both), 1 + len(both) + len(contracted_a)))

    def of_batch(A: Array, B: Array, indices: Array) -> Array:
        a, b = _gathered(A, indices, sparse_a), _gathered(B, indices, sparse_b)
        return lax.dot_general(a, b, ((summed, summed), ([0, *shared], [0, *shared])))

    fun: Any = of_batch
    for k in reversed(range(n_batch)):
        mapped = (None if a_axes[k] is None else 0, None if b_axes[k] is None else 0, 0)
        fun = nfold_vmap(fun, 1, in_axes=mapped)
    return fun(A, B, indices)


def _dot_general_sampled_type(
    A: ShapedArray, B: ShapedArray, indices: ShapedArray, *, dimension_numbers: DotDimensionNumbers
) -> ShapedArray:
    name = "bcoo_dot_general_sampled"
    pairs = check_pairs(name, dimension_numbers, A.shape, B.shape)
    shape = pairs.shape(A.shape, B.shape)
    first_dense = indices.ndim - 2 + indices.shape[-1]
    if first_dense > len(shape):
        raise ValueError(f"{name}: indices {indices} have more axes than the product {shape}")
    dtype = product_dtype(name, A, B, None)
    out = shaped_array((*indices.shape[:-1], *shape[first_dense:]), dtype)
    validate(out, indices, shape)
    batch = shape[: indices.ndim - 2]
    return shaped_array((*batch, *out.shape[len(batch) :]), dtype)


bcoo_dot_general_sampled_p = composed(
    "bcoo_dot_general_sampled",
    _dot_general_sampled,
    _dot_general_sampled_type,
    linear_in=(0, 1),
)


def _check_sparse_pairs(name: str, pairs: Pairs, side: int, p: BCOOProperties) -> None:
    """Raises NotImplementedError for unsupported pairs of axes of a product of two sparse arrays.

    In the operand with number `side` (0 or 1), batch axes of the product must be batch axes, and
    contracted axes must be sparse axes.
    """
    if any(pair[side] >= p.n_batch for pair in pairs.batch):
        raise NotImplementedError(
            f"{name}: batch axes of the product must be batch axes of the sparse array, which has "
            f"{p.n_batch} of them"
        )
    if any(not p.n_batch <= pair[side] < p.n_batch + p.n_sparse for pair in pairs.contracted):
        raise NotImplementedError(
            f"{name}: axes contracted between two sparse arrays must be sparse axes of both"
        )


def _spdot_general(
    lhs_data: Array,
    lhs_indices: Array,
    rhs_data: Array,
    rhs_indices: Array,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
) -> Sequence[Array]:
    x_shape, y_shape = lhs_spinfo.shape, rhs_spinfo.shape
    x = validate(lhs_data, lhs_indices, x_shape)
    y = validate(rhs_data, rhs_indices, y_shape)
    pairs = Pairs(dimension_numbers, len(x_shape), len(y_shape))
    dtype = preferred_element_type or lhs_data.dtype
    x_extents, y_extents = x_shape[x.n_batch :], y_shape[y.n_batch :]
    x_joined = np.array([i - x.n_batch for i, _ in pairs.contracted], int)
    y_joined = np.array([j - y.n_batch for _, j in pairs.contracted], int)
    x_kept = np.array([i - x.n_batch for i in pairs.x_free if i >= x.n_batch], int)
    y_kept = np.array([j - y.n_batch for j in pairs.y_free if j >= y.n_batch], int)
    extents = [*[x_extents[k] for k in x_kept], *[y_extents[k] for k in y_kept]]

    def of_batch(a: Array, a_at: Array, b: Array, b_at: Array) -> tuple[Array, Array]:
        meets = jnp.all(a_at[:, None, x_joined] == b_at[None, :, y_joined], axis=-1)
        meets &= is_stored(a_at, x_extents)[:, None] & is_stored(b_at, y_extents)
        product = jnp.where(meets, a.astype(dtype)[:, None] * b.astype(dtype), jnp.zeros((), dtype))
        pairs_shape = (x.nse, y.nse)
        at = jnp.concatenate(
            [
                jnp.broadcast_to(a_at[:, None, x_kept], (*pairs_shape, len(x_kept))),
                jnp.broadcast_to(b_at[None, :, y_kept], (*pairs_shape, len(y_kept))),
            ],
            axis=-1,
        )
        at = jnp.where(meets[..., None], at, padding(at.shape, extents, at.dtype))
        return product.reshape(-1), at.reshape(-1, len(extents))

    fun: Any = of_batch
    shared = dict(pairs.batch)
    x_alone = [i for i in range(x.n_batch) if i not in shared]
    y_alone = [j for j in range(y.n_batch) if j not in shared.values()]
    for _ in y_alone:
        fun = nfold_vmap(fun, 1, in_axes=(None, None, 0, 0))
    for _ in x_alone:
        fun = nfold_vmap(fun, 1, in_axes=(0, 0, None, None))
    fun = nfold_vmap(fun, len(shared))
    x_order, y_order = [*shared, *x_alone], [*shared.values(), *y_alone]
    data, at = fun(
        _moved(lhs_data, x_order), _moved(lhs_indices, x_order),
        _moved(rhs_data, y_order), _moved(rhs_indices, y_order),
    )  # fmt: skip
    return [data, at]


def _spdot_general_type(
    lhs_data: ShapedArray,
    lhs_indices: ShapedArray,
    rhs_data: ShapedArray,
    rhs_indices: ShapedArray,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
) -> list[ShapedArray]:
    name = "bcoo_dot_general"
    x = validate(lhs_data, lhs_indices, lhs_spinfo.shape)
    y = validate(rhs_data, rhs_indices, rhs_spinfo.shape)
    pairs = check_pairs(name, dimension_numbers, lhs_spinfo.shape, rhs_spinfo.shape)
    if x.n_dense or y.n_dense:
        raise NotImplementedError(
            f"{name}: products of two sparse arrays with dense axes are not supported, but got "
            f"{lhs_spinfo} and {rhs_spinfo}; convert them to sparse axes with "
            "update_layout(n_dense=0)"
        )
    _check_sparse_pairs(name, pairs, 0, x)
    _check_sparse_pairs(name, pairs, 1, y)
    if lhs_indices.dtype != rhs_indices.dtype:
        raise TypeError(
            f"{name}: the indices of both operands must have equal dtypes, but got {lhs_indices} "
            f"and {rhs_indices}"
        )

    # Batch axes of the operands may have size 1, which broadcasts.
    x_batch = np.broadcast_shapes(lhs_data.shape[: x.n_batch], lhs_indices.shape[: x.n_batch])
    y_batch = np.broadcast_shapes(rhs_data.shape[: y.n_batch], rhs_indices.shape[: y.n_batch])
    shared = [np.broadcast_shapes((x_batch[i],), (y_batch[j],))[0] for i, j in pairs.batch]
    x_alone = [x_batch[i] for i in pairs.x_free if i < x.n_batch]
    y_alone = [y_batch[j] for j in pairs.y_free if j < y.n_batch]
    stored = (*shared, *x_alone, *y_alone, x.nse * y.nse)
    n_sparse = x.n_sparse + y.n_sparse - 2 * len(pairs.contracted)
    dtype = product_dtype(name, lhs_data, rhs_data, preferred_element_type)
    return [shaped_array(stored, dtype), shaped_array((*stored, n_sparse), lhs_indices.dtype)]


bcoo_spdot_general_p = composed(
    "bcoo_spdot_general",
    _spdot_general,
    _spdot_general_type,
    linear_in=(0, 2),
    multiple_results=True,
)


def spdot_shape(
    pairs: Pairs, x: Sequence[int], y: Sequence[int], n_batch: tuple[int, int]
) -> tuple[Shape, int]:
    """Returns (shape of the product of two sparse arrays, number of its batch axes)."""
    batch = [i for i, _ in pairs.batch]
    x_batch = [i for i in pairs.x_free if i < n_batch[0]]
    y_batch = [j for j in pairs.y_free if j < n_batch[1]]
    if y_batch and any(i >= n_batch[0] for i in pairs.x_free):
        raise NotImplementedError(
            "bcoo_dot_general: batch axes of the right operand cannot follow sparse axes of the "
            "left operand in the result"
        )
    n = len(batch) + len(x_batch) + len(y_batch)
    return pairs.shape(x, y), n
