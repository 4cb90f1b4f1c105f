"""`jax.experimental.layout`: the order of an array's axes in memory, combined with its sharding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.lazy import listing
from jitney.core.pytree import pytrees
from jitney.primitives.array.layout import layout_constraint_p
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.layout import Format as Format, Layout as Layout

if TYPE_CHECKING:
    from jitney.core.typing import PyTree


def with_layout_constraint(x: PyTree, layouts: PyTree) -> Any:
    """Returns `x`, and records the requested layouts of its arrays in jaxprs.

    All arrays are stored in row-major order here; the constraint changes neither values nor
    layouts.

    Args:
      x: a pytree of arrays.
      layouts: a `Layout` for each array, or a prefix of such a pytree.

    Raises:
      ValueError: if a leaf of `layouts` is not a Layout or is for another number of axes, or if the
        pytree is not a prefix.

    Example:
      >>> from jax.experimental.layout import Layout, with_layout_constraint
      >>> with_layout_constraint(jnp.arange(2), Layout((0,)))
      Array([0, 1], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(x)
    each = pytrees.broadcast_prefix(layouts, x, is_leaf=lambda layout: layout is None)
    for layout in each:
        if not isinstance(layout, Layout):
            raise ValueError(
                "with_layout_constraint: layouts must be Layouts, such as Layout((1, 0)), or "
                f"pytrees of these, but one is {layout!r}"
            )
    return tree.unflatten(
        [
            layout_constraint_p.bind(as_value(leaf), layout=layout)
            for leaf, layout in zip(leaves, each, strict=True)
        ]
    )


__all__ = ["Format", "Layout", "with_layout_constraint"]

__dir__ = listing(__name__)
