"""Batching of a function along the leading axis: `vmap` for modules that must not import `api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.batch import AxisData, batch_flat, move_to

if TYPE_CHECKING:
    pass

X = TypeVar("X")
Y = TypeVar("Y")


def batched_function(f: Callable[[X], Y]) -> Callable[[X], Y]:
    """Batches `f`, a function of a pytree, along the leading axis of the pytree's arrays."""

    def many(xs: X) -> Y:
        leaves, tree = pytrees.tree_flatten(xs)
        size = shape_of(leaves[0])[0]
        flat = FlatFunction(f, pytrees.treedef_tuple((tree,)))
        values = [as_value(x) for x in leaves]
        outs, dims = batch_flat(flat, AxisData(None, size), values, [0] * len(values))
        whole = [move_to(as_value(x), d, 0, size) for x, d in zip(outs, dims, strict=True)]
        return flat.unflatten(whole)

    return many
