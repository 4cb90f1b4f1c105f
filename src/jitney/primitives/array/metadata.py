"""`xla_metadata_value`, which returns its operand and records attributes for the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitney.core.program.key_reuse import uses_keys
from jitney.core.tracing.primitive import declare
from jitney.primitives import rules

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.types.avals import ShapedArray
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Primals, Value

Pairs = tuple[tuple[str, Any], ...]

xla_metadata_value_p = declare("xla_metadata_value", linear=True)


@xla_metadata_value_p.abstract
def _xla_metadata_value_abstract(x: ShapedArray, *, xla_metadata_kvs: Pairs) -> ShapedArray:
    return x


@xla_metadata_value_p.eager
def _xla_metadata_value_eager(x: np.ndarray, *, xla_metadata_kvs: Pairs) -> np.ndarray:
    return x


@xla_metadata_value_p.lower
def _xla_metadata_value_lower(b: Builder, x: Node, *, xla_metadata_kvs: Pairs) -> Node:
    return x


@xla_metadata_value_p.batch
def _xla_metadata_value_batch(
    args: Primals, dims: Dims, **params: object
) -> tuple[Value, BatchDim]:
    return xla_metadata_value_p.bind(*args, **params), dims[0]


rules.deflinear(
    xla_metadata_value_p, lambda ct, x, **params: xla_metadata_value_p.bind(ct, **params)
)
uses_keys(xla_metadata_value_p, forwards=True)
