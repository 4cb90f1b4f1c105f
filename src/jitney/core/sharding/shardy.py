"""Shardings in the notation of Shardy, the dialect in which JAX's lowered programs have them."""

from __future__ import annotations

from jitney.core.record import record


@record(frozen=True)
class SdyArray:
    """How an array is divided over a mesh.

    Attributes:
      mesh_shape: name and extent of each axis of the mesh.
      dim_shardings: for each axis of the array, those of the mesh that divide it; None where the
        compiler may choose.
      device_ids: of the mesh's devices, if they are in another order than 0, 1, 2 ...
    """

    mesh_shape: tuple[tuple[str, int], ...]
    dim_shardings: tuple[tuple[str, ...] | None, ...]
    device_ids: tuple[int, ...] = ()

    def __repr__(self) -> str:
        mesh = ", ".join([f'"{name}"={n}' for name, n in self.mesh_shape])
        order = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        axes = ", ".join([_entry(names) for names in self.dim_shardings])
        return f"#sdy.sharding<mesh<[{mesh}]{order}>, [{axes}]>"


def _entry(names: tuple[str, ...] | None) -> str:
    return "{?}" if names is None else "{" + ", ".join([f'"{name}"' for name in names]) + "}"
