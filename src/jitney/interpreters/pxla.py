"""`jax.interpreters.pxla`: the mesh in force, as older libraries read it.

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
    """The settings of this thread."""

    @property
    def physical_mesh(self) -> Mesh:
        """The mesh of `with mesh:`, or else the one in force; an empty one if there is none."""
        mesh = entered_mesh()
        return get_mesh() if mesh.empty else mesh


thread_resources = SimpleNamespace(env=_Environment())
