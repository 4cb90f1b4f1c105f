"""`jax.interpreters.pxla`: the context mesh, in the form that older libraries read.

New code calls `jax.sharding.get_mesh()`.
"""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import Any, TypeAlias

from jitney.core.lazy import listing
from jitney.core.sharding.mesh import Mesh, entered_mesh, get_mesh

__all__ = ["ArrayMapping", "Index", "MeshAxisName", "thread_resources"]

__dir__ = listing(__name__)

MeshAxisName: TypeAlias = Any
Index: TypeAlias = int | slice | tuple[int | slice, ...]
ArrayMapping: TypeAlias = OrderedDict[MeshAxisName, int]


class _Environment:
    """The settings of the current thread."""

    @property
    def physical_mesh(self) -> Mesh:
        """The mesh entered by `with mesh:`, else the context mesh, else an empty mesh."""
        mesh = entered_mesh()
        return get_mesh() if mesh.empty else mesh


thread_resources = SimpleNamespace(env=_Environment())
