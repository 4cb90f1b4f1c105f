"""`dce_sink`, a use of values that dead code elimination does not remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.tracing.primitive import declare
from jitney.core.types import effects
from jitney.core.types.avals import AbstractValue
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Dims,
        Node,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

dce_sink_p = declare("dce_sink", multiple_results=True)
dce_sink_p.effectful = True


@dce_sink_p.abstract
def _dce_sink_abstract(
    _x: AbstractValue, *, prevent_mlir_dce: bool
) -> tuple[list[AbstractValue], frozenset[effects.Effect]]:
    return [], frozenset({effects.no_dce_effect})


@dce_sink_p.eager
def _dce_sink_eager(_x: np.ndarray, *, prevent_mlir_dce: bool) -> list[np.ndarray]:
    return []


@dce_sink_p.lower
def _dce_sink_lower(b: Builder, _x: Node, *, prevent_mlir_dce: bool) -> list[Node]:
    return []


@dce_sink_p.jvp
def _dce_sink_jvp(
    primals: Primals, tangents: Tangents, **params: bool
) -> tuple[list[Value], list[Tangent]]:
    for x in (*primals, *tangents):
        if not isinstance(x, Zero):
            dce_sink_p.bind(x, **params)
    return [], []


@dce_sink_p.batch
def _dce_sink_batch(
    args: Primals, _dims: Dims, **params: bool
) -> tuple[list[Value], list[BatchDim]]:
    dce_sink_p.bind(*args, **params)
    return [], []


dce_sink_p.absent("transpose", why="it has no results, so it receives no cotangents")


def dce_sink(val: PyTree, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps the computation of `val` in the traced program even if no result depends on it.

    The compiler of jitney still removes it from compiled programs.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: in JAX, whether the compiler keeps the computation, too. Here it is only
        recorded as a parameter of the equation.

    Raises:
      TypeError: if a leaf is not an array or a scalar.

    Example:
      >>> jax.make_jaxpr(lambda x: lax.dce_sink(x))(1.0)
      { lambda ; a:f32[]. let dce_sink[prevent_mlir_dce=False] a in () }
    """
    for leaf in pytrees.tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)
