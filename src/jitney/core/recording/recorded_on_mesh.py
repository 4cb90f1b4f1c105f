"""Effects of a context mesh (`jax.set_mesh`) on operations while they are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from jitney.core.recording.recording_interceptors import RecordingInterceptor, features
from jitney.core.sharding.mesh import AbstractMesh, get_abstract_mesh
from jitney.core.sharding_in_types import explicit
from jitney.core.types.avals import AbstractValue

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import JaxprEqnContext
    from jitney.core.sharding_in_types.varying import Operation
    from jitney.core.types.avals import ResultTypes


class MeshWhileRecording(RecordingInterceptor):
    """Puts results on the context mesh, checks operands, and records the mesh in equations."""

    def check(self, primitive: Operation, avals: Sequence[AbstractValue]) -> None:
        mesh = get_abstract_mesh()
        if (
            explicit.rewriting.is_on
            or mesh.empty
            or mesh.manual_axes
            or primitive.called is not None
            or primitive.declares_sharding
        ):
            return
        for aval in avals:
            own = explicit.sharding_of(aval)
            # (Axis types may differ: within `auto_axes` batches stay sharded.)
            if own is not None and own.mesh.shape_tuple != mesh.shape_tuple:
                raise ValueError(
                    f"{primitive}: operands must be on the context mesh, {mesh}, but an operand of "
                    f"type {aval.str_short()} is on {own.mesh}; move it with jax.sharding.reshard"
                )

    def result_types(self, primitive: Operation, out: Any) -> ResultTypes:
        if primitive.called is not None or primitive.declares_sharding:
            return out
        if not isinstance(out, list | tuple):
            return explicit.on_context_mesh(out)
        return [explicit.on_context_mesh(aval) for aval in cast("list[AbstractValue]", out)]

    def context(self, context: JaxprEqnContext) -> JaxprEqnContext:
        mesh = get_abstract_mesh()
        if mesh.empty or mesh.manual_axes:
            return context
        if context.xla_metadata is not None:  # is not hashable
            return context._replace(cur_abstract_mesh=mesh)
        return _on_mesh(context, mesh)


@lru_cache(256)
def _on_mesh(context: JaxprEqnContext, mesh: AbstractMesh) -> JaxprEqnContext:
    """Returns `context` with `mesh`; the same object for all equations."""
    return context._replace(cur_abstract_mesh=mesh)


_mesh_while_recording = MeshWhileRecording()


def intercept(context_meshes: int) -> None:
    """Installs the feature while any thread has a context mesh."""
    (features.install if context_meshes else features.remove)(_mesh_while_recording)
