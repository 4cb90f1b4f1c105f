"""`associative_scan`: prefix reductions by an associative function in O(log n) steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.pytree import pytrees
from jitney.core.types.avals import get_aval
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate, pad
from jitney.primitives.array.shape import rev, shape_of
from jitney.primitives.elementwise.binary import add, bitwise_or
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.indexing.slice import slice_in_dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Value

T = TypeVar("T")


def _interleave(a: Value, b: Value, axis: int) -> Array:
    """Interleaves `a` and `b` along `axis`: a0, b0, a1, ..."""
    n, m = shape_of(a)[axis], shape_of(b)[axis]
    assert n in (m, m + 1)
    config_a, config_b = [(0, 0, 0)] * len(shape_of(a)), [(0, 0, 0)] * len(shape_of(a))
    config_a[axis] = (0, 1 if n == m else 0, 1)
    config_b[axis] = (1, 0 if n == m else 1, 1)
    dtype = get_aval(a).dtype
    zero = np.zeros((), dtype)[()]
    join = bitwise_or if dtype == np.bool_ else add
    return join(pad(a, zero, config_a), pad(b, zero, config_b))


@api_boundary
def associative_scan(fn: Callable[[T, T], T], elems: T, reverse: bool = False, axis: int = 0) -> T:
    """Computes the prefix reductions of `elems` along `axis` by the associative function `fn`.

    Args:
      fn: an associative function (pytree, pytree) -> pytree that combines corresponding elements
        along `axis`.
      elems: a pytree of arrays with equal sizes along `axis`.
      reverse: whether to compute suffix reductions, from the end.
      axis: the axis along which to reduce; negative ones count from the end.

    Returns: a pytree like `elems`. About 2 log2(n) calls of `fn` are made for n elements.

    Raises:
      TypeError: if `fn` is not callable.
      ValueError: if the sizes along `axis` differ.

    Example:
      >>> lax.associative_scan(jnp.multiply, jnp.arange(1, 6))
      Array([  1,   2,   6,  24, 120], dtype=int32)
      >>> lax.associative_scan(jnp.maximum, jnp.array([3, 1, 4, 1, 5]), reverse=True)
      Array([5, 5, 5, 5, 5], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: `fn` must be a function, but is {fn!r}")
    leaves, tree = pytrees.tree_flatten(elems)
    values = [as_value(x) for x in leaves]
    axes = [canonical_axis(axis, len(shape_of(x))) for x in values]
    sizes = {shape_of(x)[k] for x, k in zip(values, axes, strict=True)}
    if len(sizes) > 1:
        raise ValueError(
            f"lax.associative_scan: along axis {axis}, all sizes must be equal, but the shapes "
            f"are {[shape_of(x) for x in values]}"
        )
    if reverse:
        values = [rev(x, (k,)) for x, k in zip(values, axes, strict=True)]
    where = axes[0] if axes else 0

    def combine(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        out = fn(pytrees.tree_unflatten(tree, a), pytrees.tree_unflatten(tree, b))
        return pytrees.tree_leaves(out)

    def part(xs: Sequence[Value], start: int, stop: int | None, step: int = 1) -> list[Array]:
        return [slice_in_dim(x, start, stop, step, where) for x in xs]

    def folded(xs: Sequence[Value]) -> Sequence[Value]:
        n = shape_of(xs[0])[where]
        if n < 2:
            return xs
        # Combine neighbors, scan the pairs, and compute the elements between them.
        pairs = combine(part(xs, 0, n - 1, 2), part(xs, 1, None, 2))
        odd = folded(pairs)
        if n % 2 == 0:
            even = combine(part(odd, 0, -1), part(xs, 2, None, 2))
        else:
            even = combine(odd, part(xs, 2, None, 2))
        first = part(xs, 0, 1)
        even = [concatenate([f, e], where) for f, e in zip(first, even, strict=True)]
        return [_interleave(e, o, where) for e, o in zip(even, odd, strict=True)]

    result = folded(values)
    if reverse:
        result = [rev(x, (k,)) for x, k in zip(result, axes, strict=True)]
    return pytrees.tree_unflatten(tree, result)
