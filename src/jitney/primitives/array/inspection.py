"""`inspect_sharding`: passes the sharding of a value to a user's function at compile time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jitney.core.program.key_reuse import uses_keys
from jitney.core.pytree import pytrees
from jitney.core.sharding.sharding import Sharding
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import AbstractValue
from jitney.core.types.effects import debug_effect
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.execution import placements

if TYPE_CHECKING:
    from jitney.core.types.effects import Effect
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

inspect_sharding_p = declare("inspect_sharding", multiple_results=True)
inspect_sharding_p.effectful = True
inspect_sharding_p.asks_places = True
uses_keys(inspect_sharding_p)


@inspect_sharding_p.abstract
def _inspect_sharding_abstract(
    _x: AbstractValue, *, callback: Callable[[Sharding], None]
) -> tuple[list[AbstractValue], frozenset[Effect]]:
    return [], frozenset({debug_effect})


@inspect_sharding_p.def_impl
def _inspect_sharding_def_impl(x: Value, *, callback: Callable[[Sharding], None]) -> list[Value]:
    callback(as_value(x).sharding)
    return []


@inspect_sharding_p.lower
def _inspect_sharding_lower(
    b: Builder, x: Node, *, callback: Callable[[Sharding], None]
) -> list[Node]:
    from jitney.compiler.hlo.sharding_propagation import PlacementBuilder

    if isinstance(b, PlacementBuilder):  # only sharding propagation calls it; it generates no code
        b.host_call(placements.INSPECT, callback, [x], (), ordered=True)
    return []


@inspect_sharding_p.jvp
def _inspect_sharding_jvp(
    primals: Primals, tangents: Tangents, **params: object
) -> tuple[list[Value], list[Tangent]]:
    return inspect_sharding_p.bind(*primals, **params), []


@inspect_sharding_p.batch
def _inspect_sharding_batch(
    args: Primals, dims: Dims, **params: object
) -> tuple[list[Value], list[BatchDim]]:
    return inspect_sharding_p.bind(*args, **params), []


inspect_sharding_p.absent("eager", why="its `impl` calls the function with arrays")
inspect_sharding_p.absent("transpose", why="it has no result")


def inspect_array_sharding(value: PyTree, *, callback: Callable[[Sharding], None]) -> None:
    """Calls `callback` with the sharding of each array in `value`.

    Within a jitted function, the callback runs when the program is compiled for a new combination
    of operand shardings, and receives the sharding that sharding propagation has determined.
    Transformations preserve the call.

    Args:
      value: a pytree of arrays.
      callback: a function of a `Sharding`; its result is ignored.

    Example:
      >>> jax.debug.inspect_array_sharding(jnp.ones(3), callback=lambda s: print(len(s.device_set)))
      1
    """
    for leaf in pytrees.tree_leaves(value):
        inspect_sharding_p.bind(
            leaf if isinstance(leaf, Tracer) else as_value(leaf), callback=callback
        )


inspect_array_sharding.__module__ = "jax.debug"
