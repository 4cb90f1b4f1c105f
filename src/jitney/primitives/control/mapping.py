"""`map`, which applies a function to rows, sequentially or in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.control.batched import batched_function
from jitney.primitives.control.scan import scan_from
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.indexing.slice import slice_in_dim

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.control.tracing import Source
    from jitney.primitives.rule_types import Value

X = TypeVar("X")
Y = TypeVar("Y")


@api_boundary
def map(  # noqa: A001
    f: Callable[[X], Y], xs: X, *, batch_size: int | None = None
) -> Y:
    """Applies `f` to each row of `xs` sequentially, and stacks the results.

    Args:
      f: a function of a row.
      xs: a pytree of arrays with equal leading sizes.
      batch_size: the number of rows that are processed at once with `vmap`; the last batch may be
        smaller. With None or 0, rows are processed one at a time.

    Returns: a pytree of arrays with the leading size of `xs`. (`jax.vmap(f)(xs)` processes all rows
      at once.)

    Example:
      >>> lax.map(lambda row: row.sum(), jnp.array([[1, 2], [3, 4], [5, 6]]))
      Array([ 3,  7, 11], dtype=int32)
    """
    if batch_size:
        return _map_in_batches(f, xs, batch_size)
    return _map_rows((f, "map"), f, xs)


def _map_rows(source: Source, f: Callable[[X], Y], xs: X) -> Y:
    """Applies `f` to each row; functions derived from the same `source` are traced once."""
    _, ys = scan_from(source, lambda _, x: ((), f(x)), (), xs)
    return ys


def _map_in_batches(f: Callable[[X], Y], xs: X, batch_size: int) -> Y:
    leaves = pytrees.tree_leaves(xs)
    n = shape_of(leaves[0])[0]
    whole, remainder = divmod(n, batch_size)
    many = batched_function(f)
    parts: list[Any] = []
    if whole:

        def in_blocks(x: Value) -> Array:
            rows = slice_in_dim(x, 0, whole * batch_size)
            return reshape(rows, (whole, batch_size, *shape_of(x)[1:]))

        def in_rows(y: Value) -> Array:
            return reshape(y, (whole * batch_size, *shape_of(y)[2:]))

        out = _map_rows((f, "batches"), many, pytrees.tree_map(in_blocks, xs))
        parts.append(pytrees.tree_map(in_rows, out))
    if remainder or not parts:

        def behind_blocks(x: Value) -> Array:
            return slice_in_dim(as_value(x), whole * batch_size, n)

        parts.append(many(pytrees.tree_map(behind_blocks, xs)))
    if len(parts) == 1:
        return parts[0]

    def joined(a: Value, b: Value) -> Array:
        return concatenate([a, b], 0)

    return pytrees.tree_map(joined, *parts)
