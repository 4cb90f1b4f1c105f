"""Puts new arrays and the results of eager operations on the context mesh (`jax.set_mesh`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.recording import recorded_on_mesh
from jitney.core.sharding.mesh import context_meshes, get_mesh
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import intercept_evaluation
from jitney.runtime.arrays import array_interceptors
from jitney.runtime.arrays.array_interceptors import ArrayInterceptor
from jitney.runtime.execution import placements
from jitney.runtime.execution.assignment import NO_REQUESTS, assign
from jitney.runtime.execution.eager import EvalTrace

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.typing import Value


class OnContextMesh(EvalTrace):
    """A trace that puts results on the context mesh (`jax.set_mesh`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        mesh = get_mesh()
        if mesh.empty or primitive.is_evaluated_by_user(built_in):
            return super().process_primitive(primitive, args, params, built_in)
        requests = placements.or_on(mesh, NO_REQUESTS)
        assign(args, describe=lambda i: f"argument {i} of {primitive}", requests=requests)
        results = super().process_primitive(primitive, args, params, built_in)
        is_typed = not primitive.declares_sharding
        if primitive.multiple_results:
            return [placements.settled(x, is_typed) for x in results]
        return placements.settled(results, is_typed)


class NewArraysOnMesh(ArrayInterceptor):
    """An interceptor that puts new arrays on the context mesh (`jax.set_mesh`)."""

    def new_array(self, x: Array) -> Array:
        return placements.settled(x)


_NEW_ARRAYS = NewArraysOnMesh()


def _intercept(count: int) -> None:
    """Starts or ends the interception; `count` is the number of context meshes."""
    recorded_on_mesh.intercept(count)
    if count:
        intercept_evaluation(OnContextMesh)
        array_interceptors.features.install(_NEW_ARRAYS)
    else:
        array_interceptors.features.remove(_NEW_ARRAYS)


def install() -> None:
    """Registers the feature, which starts when a context mesh is first set."""
    context_meshes.listen(_intercept)
