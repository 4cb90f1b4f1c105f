"""`layout_constraint`: returns its operand, and records a memory layout in the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.key_reuse import uses_keys
from jitney.core.primitive import declare
from jitney.primitives import rules

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.avals import ShapedArray
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Primals, Value
    from jitney.runtime.layout import Layout

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


@layout_constraint_p.batch
def _layout_constraint_batch(
    args: Primals, dims: Dims, *, layout: Layout
) -> tuple[Value, BatchDim]:
    dim = dims[0]
    assert dim is not None
    order = tuple([axis + (axis >= dim) for axis in layout.major_to_minor])
    whole = layout.update(major_to_minor=(dim, *order))
    return layout_constraint_p.bind(*args, layout=whole), dim


rules.deflinear(layout_constraint_p, lambda ct, x, **params: layout_constraint_p.bind(ct, **params))
uses_keys(layout_constraint_p, forwards=True)
