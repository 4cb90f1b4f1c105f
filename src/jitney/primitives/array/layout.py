"""`layout_constraint` and `relayout`, which record memory layouts in the program.

Both return their operand unchanged, since all arrays are row-major here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.program.key_reuse import uses_keys
from jitney.core.tracing.primitive import declare
from jitney.primitives import rules
from jitney.runtime.devices.layout import AutoLayout, Layout

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.types.avals import ShapedArray
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Primals, Value

layout_constraint_p = declare("layout_constraint", linear=True)


@layout_constraint_p.abstract
def _layout_constraint_abstract(x: ShapedArray, *, layout: Layout) -> ShapedArray:
    layout.check_compatible_aval(x.shape)
    return x


@layout_constraint_p.eager
def _layout_constraint_eager(x: np.ndarray, *, layout: Layout) -> np.ndarray:
    return x


@layout_constraint_p.lower
def _layout_constraint_lower(b: Builder, x: Node, *, layout: Layout) -> Node:
    return x


def _batched(layout: Layout, dim: int) -> Layout:
    """Returns the layout of a batch of arrays with `layout`; the batch axis `dim` is slowest."""
    order = tuple([axis + (axis >= dim) for axis in layout.major_to_minor])
    return layout.update(major_to_minor=(dim, *order))


@layout_constraint_p.batch
def _layout_constraint_batch(
    args: Primals, dims: Dims, *, layout: Layout
) -> tuple[Value, BatchDim]:
    dim = dims[0]
    assert dim is not None
    return layout_constraint_p.bind(*args, layout=_batched(layout, dim)), dim


rules.deflinear(layout_constraint_p, lambda ct, x, **params: layout_constraint_p.bind(ct, **params))
uses_keys(layout_constraint_p, forwards=True)


# --- relayout -------------------------------------------------------------------------------------

relayout_p = declare("relayout", linear=True)


@relayout_p.abstract
def _relayout_abstract(x: ShapedArray, *, dst_layout: Layout | AutoLayout) -> ShapedArray:
    if isinstance(dst_layout, Layout):
        dst_layout.check_compatible_aval(x.shape)
    return x


@relayout_p.eager
def _relayout_eager(x: np.ndarray, *, dst_layout: Layout | AutoLayout) -> np.ndarray:
    return x


@relayout_p.lower
def _relayout_lower(b: Builder, x: Node, *, dst_layout: Layout | AutoLayout) -> Node:
    return x


@relayout_p.batch
def _relayout_batch(
    args: Primals, dims: Dims, *, dst_layout: Layout | AutoLayout
) -> tuple[Value, BatchDim]:
    dim = dims[0]
    assert dim is not None
    whole = _batched(dst_layout, dim) if isinstance(dst_layout, Layout) else dst_layout
    return relayout_p.bind(*args, dst_layout=whole), dim


# The compiler chooses the layout of a cotangent.
rules.deflinear(relayout_p, lambda ct, x, **_: relayout_p.bind(ct, dst_layout=Layout.AUTO))
uses_keys(relayout_p, forwards=True)
