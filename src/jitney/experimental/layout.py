"""`jax.experimental.layout`: the order of an array's axes in memory, combined with its sharding."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.pytree import pytrees
from jitney.core.util.lazy import listing
from jitney.core.util.wraps import wraps
from jitney.primitives.array.layout import layout_constraint_p, relayout_p
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.devices.layout import AutoLayout, Format as Format, Layout as Layout

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

T = TypeVar("T")


def with_layout_constraint(x: T, layouts: PyTree) -> T:
    """Returns `x`, and records the requested layouts of its arrays in jaxprs.

    All arrays are stored in row-major order in jitney; the constraint changes neither values nor
    layouts.

    Args:
      x: a pytree of arrays.
      layouts: a `Layout` for each array, or a prefix of such a pytree.

    Raises:
      ValueError: if a leaf of `layouts` is not a Layout or has the wrong number of axes, or if
        `layouts` is not a prefix of `x`.

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


def explicit_layout(f: Callable[..., PyTree] | None = None, /, *, in_layouts: PyTree = None) -> Any:
    """Returns a function that computes `f` with requested layouts of its arguments.

    All arrays are stored in row-major order in jitney, so that layouts have no effect except that
    jaxprs show them: the layouts of the arguments, and `AUTO` for the results.

    Args:
      f: a function of pytrees of arrays. If it is omitted, a decorator is returned.
      in_layouts: a `Layout` for each argument, or `Layout.AUTO` for each, or a prefix of such a
        pytree.

    Raises:
      TypeError: if `in_layouts` is missing, or, when the function is called, if its leaves are not
        layouts, or are a mixture of `Layout`s and `Layout.AUTO`.
      ValueError: when the function is called, if a layout has the wrong number of axes, or if
        `in_layouts` is not a prefix of the tuple of arguments.

    Example:
      >>> from jax.experimental.layout import Layout, explicit_layout
      >>> f = explicit_layout(lambda x: x + 1, in_layouts=Layout((1, 0)))
      >>> f(jnp.zeros((1, 2)))
      Array([[1., 1.]], dtype=float32)
    """
    if in_layouts is None:
        raise TypeError(
            "explicit_layout: the keyword argument `in_layouts` is missing; pass a Layout for each "
            "argument, or Layout.AUTO"
        )
    if f is None:
        return functools.partial(explicit_layout, in_layouts=in_layouts)
    function = f

    @wraps(f)
    def call(*args: PyTree) -> Any:
        each = pytrees.broadcast_prefix(in_layouts, args, is_leaf=lambda layout: layout is None)
        _check_layouts(each)
        leaves, tree = pytrees.tree_flatten(args)
        inside = [
            relayout_p.bind(as_value(leaf), dst_layout=layout)
            for leaf, layout in zip(leaves, each, strict=True)
        ]
        outs = function(*pytrees.tree_unflatten(tree, inside))
        return pytrees.tree_map(
            lambda x: relayout_p.bind(as_value(x), dst_layout=Layout.AUTO), outs
        )

    return call


def _check_layouts(layouts: list[Any]) -> None:
    """Raises TypeError unless all are Layouts, or all are Layout.AUTO."""
    for layout in layouts:
        if not isinstance(layout, Layout | AutoLayout):
            raise TypeError(
                "explicit_layout: `in_layouts` must be Layouts, such as Layout((1, 0)), or "
                f"pytrees of these, but one is {layout!r}"
            )
    if len({type(layout) for layout in layouts}) > 1:
        raise TypeError(
            "explicit_layout: `in_layouts` must all be Layouts, or all Layout.AUTO, but got "
            f"{layouts}"
        )


__all__ = ["Format", "Layout", "explicit_layout", "with_layout_constraint"]

__dir__ = listing(__name__)
