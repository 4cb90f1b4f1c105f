"""Functions that make meshes and place arrays on them; one device makes them short."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.device_put import device_put
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.sharding import Sharding
from jitney.runtime import client
from jitney.runtime.array import ArrayImpl, array_of
from jitney.runtime.sharding import SingleDeviceSharding

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, AxisName, DTypeLike, PyTree
    from jitney.runtime.device import Device


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of the given extents and names.

    Args:
      axis_shapes: the extent of each axis.
      axis_names: the name of each axis.
      axis_types: who decides along each axis; all `Explicit` by default.
      devices: the devices; all there are by default.

    Raises:
      ValueError: if there are fewer devices than the extents' product.

    Example:
      >>> mesh = jax.make_mesh((1, 1), ("rows", "columns"))
      >>> mesh.axis_names
      ('rows', 'columns')
    """
    present = list(devices if devices is not None else _all_devices())
    wanted = int(np.prod(axis_shapes, dtype=int))
    if wanted > len(present):
        raise ValueError(
            f"Number of devices {len(present)} must be >= the product of mesh_shape "
            f"{tuple(axis_shapes)}"
        )
    grid = np.array(present[:wanted], dtype=object).reshape(tuple(axis_shapes))
    types = axis_types if axis_types is not None else (AxisType.Explicit,) * len(axis_names)
    return Mesh(grid, axis_names, types)


def _all_devices() -> list[Device]:
    return client.client().devices()


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """All of an array on `device`."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Any], Any],
    dtype: DTypeLike | None = None,
) -> ArrayImpl:
    """An array of `shape` of what `data_callback(index)` gives for the device's part of it.

    Example:
      >>> x = jnp.arange(4.0)
      >>> jax.make_array_from_callback((4,), x.sharding, lambda index: x[index])
      Array([0., 1., 2., 3.], dtype=float32)
    """
    index = tuple([slice(None)] * len(tuple(shape)))
    data = np.asarray(data_callback(index), dtype)
    if data.shape != tuple(shape):
        raise ValueError(f"data_callback gave shape {data.shape} for an array of shape {shape}")
    return array_of(data).placed(sharding)


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding,
    arrays: Sequence[Any],
    *,
    dtype: DTypeLike | None = None,
) -> ArrayImpl:
    """The array whose one part is given."""
    (only,) = arrays
    if tuple(only.shape) != tuple(shape):
        raise ValueError(f"the part has shape {only.shape}, the array is to have {tuple(shape)}")
    return only.placed(sharding)


def make_array_from_process_local_data(
    sharding: Sharding, local_data: ArrayLike, global_shape: Sequence[int] | None = None
) -> Any:
    """Arrays of what this process, the only one, has."""
    return pytrees.tree_map(lambda x: array_of(np.asarray(x)).placed(sharding), local_data)


def reshard(xs: PyTree, out_shardings: PyTree) -> Any:
    """`xs` placed as `out_shardings` says.

    Args:
      xs: a pytree of arrays.
      out_shardings: a sharding for all of them, or a tree of shardings of which `xs` has the structure.

    Returns: a pytree like `xs`, with the same shapes, dtypes and values.

    Example:
      >>> x = jnp.arange(3)
      >>> jax.reshard(x, x.sharding)
      Array([0, 1, 2], dtype=int32)
    """
    return device_put(xs, out_shardings)


def auto_axes(
    f: Callable[..., PyTree] | None = None, /, *, axes: AxisName = None, out_sharding: PyTree = None
) -> Any:
    """`f` as it is: with one device the compiler has nothing to decide."""
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    return f


def explicit_axes(
    f: Callable[..., PyTree] | None = None, /, *, axes: AxisName = None, in_sharding: PyTree = None
) -> Any:
    """`f` as it is: with one device the types have nothing to say."""
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    return f
