"""`jax.experimental.shard_alike`: constrains pytrees of arrays to have equal shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from jitney.core.pytree import pytrees
from jitney.core.util.lazy import listing
from jitney.primitives.array.shard_alike import shard_alike_p
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    pass

T = TypeVar("T")

__all__ = ["shard_alike"]

__dir__ = listing(__name__)


def shard_alike(x: T, y: T) -> tuple[T, T]:
    """Returns `x` and `y` with equal shardings of corresponding leaves.

    Where sharding propagation would shard the two differently, each axis gets the finer of the two
    shardings.

    Args:
      x: a pytree of arrays.
      y: a pytree of arrays of the same structure and shapes.

    Raises:
      ValueError: if structures or shapes differ.

    Example:
      >>> from jax.experimental.shard_alike import shard_alike
      >>> x, y = shard_alike(jnp.arange(2), jnp.ones(2))
      >>> x.tolist(), y.tolist()
      ([0, 1], [1.0, 1.0])
    """
    xs, tree = pytrees.tree_flatten(x)
    ys, other = pytrees.tree_flatten(y)
    if tree != other:
        raise ValueError(
            f"shard_alike: x and y must have the same tree structure, but got {tree} and {other}"
        )
    pairs = [shard_alike_p.bind(as_value(a), as_value(b)) for a, b in zip(xs, ys, strict=True)]
    return tree.unflatten([a for a, _ in pairs]), tree.unflatten([b for _, b in pairs])
