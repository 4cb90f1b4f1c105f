"""Batched matrix products as one contraction: which axes are contracted, and which remain."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.core.settings import caches
from jitney.core.util.record import record
from jitney.primitives.array.broadcasting import broadcast_shapes

# ((contracted axes of each operand), (batch axes of each)).
DimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


@record(frozen=True)
class Contraction:
    """A plan for computing a batched matrix product as one contraction.

    Attributes:
      squeezed_a, squeezed_b: axes of size 1 that are removed first.
      numbers: the dimension numbers of the contraction.
      perm: the permutation that orders the axes of the result; None if they are in order.
      ones: axes of size 1 that are inserted into the result.
    """

    squeezed_a: tuple[int, ...]
    squeezed_b: tuple[int, ...]
    numbers: DimensionNumbers
    perm: tuple[int, ...] | None
    ones: tuple[int, ...]


@caches.memoized("contractions of products", "shapes of the operands", 1024)
def contraction(
    left: tuple[int, ...], right: tuple[int, ...], row: bool, column: bool, placed: bool
) -> Contraction:
    """Plans the product of operands of these shapes as one contraction.

    Args:
      left: the shape of the first operand: (*batch, row, n), or (*batch, n) if `row` is False.
      right: the shape of the second operand: (*batch, n, column), or (*batch, n) if `column` is
        False.
      row, column: whether the first operand has a row axis, and the second a column axis.
      placed: whether the caller specifies the sharding of the result. Batch axes that have size 1
        in both operands are then kept, since they can be sharded along mesh axes of size 1.

    Raises:
      ValueError: if the batch axes cannot be broadcast.
    """
    batch_a, batch_b = left[: len(left) - 1 - row], right[: len(right) - 1 - column]
    rank = len(broadcast_shapes(batch_a, batch_b))
    # A batch axis that is missing in one operand, or of size 1 there, is a free axis of the other.
    lacks_a, lacks_b = rank - len(batch_a), rank - len(batch_b)
    full_a, full_b = (1,) * lacks_a + batch_a, (1,) * lacks_b + batch_b
    axes_a = [
        j
        for j in range(lacks_a, rank)
        if full_a[j] != 1 or j < lacks_b or (placed and full_b[j] == 1)
    ]
    axes_b = [
        j
        for j in range(lacks_b, rank)
        if full_b[j] != 1 or j < lacks_a or (placed and full_a[j] == 1)
    ]
    shared = [j for j in axes_a if j in axes_b]
    contract = ((len(axes_a) + row,), (len(axes_b),))
    batch = (tuple([axes_a.index(j) for j in shared]), tuple([axes_b.index(j) for j in shared]))
    # Axes of the result: shared ones, those of a alone, row, those of b alone, column.
    rows, columns = ["row"] * row, ["column"] * column
    alone_a, alone_b = ([j for j in axes if j not in shared] for axes in (axes_a, axes_b))
    names = [*shared, *alone_a, *rows, *alone_b, *columns]
    ones = [j for j in range(rank) if j not in axes_a and j not in axes_b]
    result_names = [*[j for j in range(rank) if j not in ones], *rows, *columns]
    return Contraction(
        tuple([k for k in range(len(batch_a)) if k + lacks_a not in axes_a]),
        tuple([k for k in range(len(batch_b)) if k + lacks_b not in axes_b]),
        (contract, batch),
        None if names == result_names else tuple([names.index(w) for w in result_names]),
        tuple(ones),
    )
