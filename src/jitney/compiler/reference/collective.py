"""Collective operations: the results of all participants of a group, given all their operands.

Names are those of MPI and XLA. The result of a single participant is its own operand, except for a
permutation that sends it nothing. `hlo.ir.Collective` specifies each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.reference import scalar
from jitney.core.util import float_errors

Array = np.ndarray


def collective(kind: str, operands: Sequence[Array], **params: Any) -> list[Array]:
    """Returns the results of the participants of one group.

    Args:
      kind: one of KINDS.
      operands: one per participant, in the order of the group; for "axis_index", the values are
        ignored.
      params: the parameters of this kind.
    """
    return _KINDS[kind](operands, **params)


def _all_reduce(xs: Sequence[Array], fn: str) -> list[Array]:
    combine = scalar.function(fn)
    total = xs[0]
    with float_errors.ignored():
        for x in xs[1:]:
            total = np.asarray(combine(total, x))
    return [total] * len(xs)


def _all_gather(xs: Sequence[Array], dim: int) -> list[Array]:
    return [np.concatenate(xs, axis=dim)] * len(xs)


def _reduce_scatter(xs: Sequence[Array], fn: str, dim: int) -> list[Array]:
    return np.split(_all_reduce(xs, fn)[0], len(xs), axis=dim)


def _all_to_all(xs: Sequence[Array], split_dim: int, concat_dim: int) -> list[Array]:
    parts = [np.split(x, len(xs), axis=split_dim) for x in xs]
    return [np.concatenate(received, axis=concat_dim) for received in zip(*parts, strict=True)]


def _permute(xs: Sequence[Array], pairs: Sequence[tuple[int, int]]) -> list[Array]:
    results = [np.zeros_like(x) for x in xs]
    for source, target in pairs:
        results[target] = xs[source]
    return results


def _broadcast(xs: Sequence[Array], source: int) -> list[Array]:
    return [xs[source]] * len(xs)


def _axis_index(xs: Sequence[object]) -> list[Array]:
    return [np.asarray(k, np.int32) for k in range(len(xs))]


_KINDS = {
    "all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all, "permute": _permute, "broadcast": _broadcast,
    "axis_index": _axis_index,
}  # fmt: skip
KINDS = tuple(_KINDS)
