"""`jax.experimental.shard_map`: the former location of `jax.shard_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from jitney.api.parallel import shard_map as _shard_map
from jitney.core.util.lazy import listing

if TYPE_CHECKING:
    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.typing import PyTree

_R = TypeVar("_R")

__dir__ = listing(__name__)


def shard_map(
    f: Callable[..., _R],
    mesh: Mesh | AbstractMesh,
    in_specs: PyTree,
    out_specs: PyTree,
    check_rep: bool = True,
) -> Callable[..., _R]:
    """Calls `jax.shard_map`; the parameters have the names of its former, experimental version."""
    return _shard_map.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
