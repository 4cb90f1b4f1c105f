"""Type inference for collectives, and their results in a group of one participant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.ir import Node, TensorType
from jitney.compiler.reference.collective import KINDS

_PARAMS = {
    "all_reduce": {"fn"}, "all_gather": {"dim"}, "reduce_scatter": {"fn", "dim"},
    "all_to_all": {"split_dim", "concat_dim"}, "permute": {"pairs"}, "broadcast": {"source"},
    "axis_index": set[str](),
}  # fmt: skip
_MONOIDS = get_args(ir.Monoid)


def group_size(axes: ir.MeshAxes, groups: ir.Groups | None) -> int:
    """Returns the number of participants of a group."""
    return math.prod([n for _, n in axes]) if groups is None else len(groups[0])


def result_type(
    kind: str, axes: ir.MeshAxes, groups: ir.Groups | None, params: ir.Params, args: Sequence[Node]
) -> TensorType:
    """Returns the type of a collective's result, which is the same on every participant.

    Raises:
      AssertionError: if a constraint is violated; the message names it.
    """
    options: dict[str, Any] = dict(params)
    assert (
        kind in KINDS and set(options) == _PARAMS[kind] and len(args) == (kind != "axis_index")
    ), f"collective.C1: invalid collective {kind} with {len(args)} operands and parameters {params}"
    assert options.get("fn", "add") in _MONOIDS, (
        f"collective.C1: {kind} with unknown monoid {options['fn']}"
    )
    everyone = range(math.prod([n for _, n in axes]))
    assert groups is None or (
        len({len(group) for group in groups}) == 1
        and sorted([k for group in groups for k in group]) == [*everyone]
    ), f"collective.C2: groups {groups} do not partition the participants along {axes}"
    size = group_size(axes, groups)
    if kind == "axis_index":
        return TensorType((), np.dtype(np.int32))
    x = args[0].tensor_type
    shape = list(x.shape)
    dims = [v for k, v in options.items() if k.endswith("dim")]
    assert all(0 <= dim < x.rank for dim in dims), (
        f"collective.C3: an axis in {params} is out of range for {kind} of {x}"
    )
    divided = options.get("split_dim", options["dim"] if kind == "reduce_scatter" else None)
    if divided is not None:
        assert shape[divided] % size == 0, (
            f"collective.C4: axis {divided} of {x} cannot be split into {size} parts"
        )
        shape[divided] //= size
    joined = options.get("concat_dim", options["dim"] if kind == "all_gather" else None)
    if joined is not None:
        shape[joined] *= size
    if kind == "permute":
        for side in zip(*options["pairs"], strict=True):
            assert len({*side}) == len(side) and {*side} <= {*range(size)}, (
                f"collective.C5: invalid pairs {options['pairs']} for {size} participants"
            )
    if kind == "broadcast":
        assert 0 <= options["source"] < size, (
            f"collective.C5: source {options['source']} is not one of {size} participants"
        )
    return TensorType(tuple(shape), x.dtype)


def is_operand(kind: str, params: ir.Params) -> bool:
    """Returns whether a collective of a single participant is the identity.

    Otherwise its result is zero.
    """
    return kind != "axis_index" and params != (("pairs", ()),)
