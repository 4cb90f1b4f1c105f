"""`shard_alike`, which returns its two operands, constrained to have the same sharding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.hlo.sharding_propagation import PlacementBuilder, SaysDivision, merged
from jitney.core.program.key_reuse import uses_keys
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray
from jitney.primitives import rules
from jitney.transforms import jet
from jitney.transforms.batch import move_to
from jitney.transforms.zero import instantiate

if TYPE_CHECKING:
    from jitney.compiler.hlo.sharding_propagation import Spec
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

shard_alike_p = declare("shard_alike", multiple_results=True, linear=True)


class _Alike(SaysDivision):
    key = -1  # the call is the same when lowered for devices and for sharding propagation

    def of_results(self, operands: Sequence[Spec], extents: Mapping[Any, int]) -> list[Spec]:
        return [merged(operands)] * len(operands)

    def of_operands(
        self, operands: Sequence[Spec], is_open: Sequence[bool], extents: Mapping[Any, int]
    ) -> list[Spec]:
        return list(operands)


@shard_alike_p.abstract
def _shard_alike_abstract(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
    if x.shape != y.shape:
        raise ValueError(
            f"shard_alike: both arrays must have the same shape, but they are {x.str_short()} and "
            f"{y.str_short()}; reshape one of them"
        )
    return [x, y]


@shard_alike_p.eager
def _shard_alike_eager(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    return [x, y]


@shard_alike_p.lower
def _shard_alike_lower(b: Builder, *xs: Node) -> list[Node]:
    if not isinstance(b, PlacementBuilder):
        return list(xs)
    return b.host_call(shard_alike_p.name, _Alike(), xs, [x.tensor_type for x in xs])


@shard_alike_p.jvp
def _shard_alike_jvp(primals: Primals, tangents: Tangents) -> tuple[list[Value], list[Tangent]]:
    return shard_alike_p.bind(*primals), shard_alike_p.bind(*[instantiate(t) for t in tangents])


shard_alike_p.jet(jet.linear(shard_alike_p))


@shard_alike_p.transpose
def _shard_alike_transpose(cts: Sequence[Cotangent], *operands: Operand) -> list[Cotangent | None]:
    return [ct if rules.is_linear(x) else None for ct, x in zip(cts, operands, strict=True)]


@shard_alike_p.batch
def _shard_alike_batch(args: Primals, dims: Dims) -> tuple[list[Value], list[BatchDim]]:
    dim = next(d for d in dims if d is not None)
    size = rules.batch_size(args, dims)
    moved = [move_to(x, d, dim, size) for x, d in zip(args, dims, strict=True)]
    return shard_alike_p.bind(*moved), [dim, dim]


uses_keys(shard_alike_p, forwards=True)
