"""Assembly of arrays from the shards that devices hold.

The constructor of arrays depends on this module, so it must not import `runtime.arrays.array`.
"""

# `ArrayImpl._value` is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.messages import messages
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding_in_types import explicit
from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.runtime.arrays import terms
from jitney.runtime.devices import windows
from jitney.runtime.native._native import NativeArray, empty, placed_array

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.avals import ShapedArray
    from jitney.core.typing import DTypeLike


def of_devices(
    api_name: str, shape: tuple[int, ...], sharding: Sharding, arrays: Sequence[Any],
    dtype: DTypeLike | None,
) -> NativeArray:  # fmt: skip
    """Returns the array of `shape` with `sharding`, assembled from one array per device.

    Args:
      api_name: the name of the calling API function, for messages.
      shape: the shape of the global array.
      sharding: its sharding.
      arrays: the shard of each device of this process, in any order.
      dtype: the dtype of the array; by default, the dtype of the shards.

    Raises:
      TypeError: if shards are not arrays.
      ValueError: if the number of shards differs from the number of this process's devices, if
        shards are on other devices, or if one has the wrong shape or dtype.
    """
    if any([not isinstance(x, NativeArray) for x in arrays]):
        raise TypeError(f"{api_name}: expected arrays, got {[type(x) for x in arrays]}")
    if not arrays and dtype is None:
        raise _no_dtype(api_name)
    local_devices = [device for device in sharding.device_order if device.is_addressable]
    if len(arrays) != len(local_devices):
        raise ValueError(
            f"jax.{api_name}: {sharding} has {messages.counted(len(local_devices), 'device')} of this "
            f"process, each of which needs one array, but {messages.there_are(len(arrays))}"
        )
    types = {x.dtype for x in arrays}
    if len(types) > 1:
        raise ValueError(
            f"{api_name}: shards must have the same dtype, but have {sorted(map(str, types))}"
        )
    if types and dtype is not None and _kind(dtype) not in types:
        raise ValueError(
            f"jax.{api_name}: the shards must have the dtype `dtype`, {dtype}, but have "
            f"{types.pop()}"
        )
    by_device: dict[Any, Any] = {}
    for x in arrays:
        (device, *others) = x.devices()
        if others:
            raise ValueError(
                f"jax.{api_name}: each shard must be on one device, but one is on "
                f"{len(x.sharding.device_set)} devices, with sharding {x.sharding}"
            )
        by_device[device] = x
    if set(by_device) != set(local_devices):
        raise ValueError(
            f"{api_name}: the shards are on {sorted(map(str, by_device))}, but the sharding is on "
            f"{sorted(map(str, local_devices))}"
        )
    parts = [by_device[device] for device in local_devices]
    return assembled(api_name, shape, sharding, parts, dtype)


def assembled(
    api_name: str, shape: tuple[int, ...], sharding: Sharding, parts: Sequence[Any],
    dtype: DTypeLike | None,
) -> NativeArray:  # fmt: skip
    """Returns the array of `shape` with the shards `parts`, in the order of this process's devices.

    The first of several replicas is used. If the sharding is unreduced, the shards are terms and
    are added.
    """
    tiling = sharding.tiling(len(shape))
    part_shape = tiling.part_shape(shape)
    for part in parts:
        if np.shape(part) != part_shape:
            raise ValueError(
                f"jax.{api_name}: a shard of an array of shape {shape} with sharding {sharding} must "
                f"have shape {part_shape}, but has shape {np.shape(part)}"
            )
    if not parts:
        return _without_parts(api_name, shape, sharding, dtype)
    data, aval = _data_of_parts(parts, shape, dtype)
    window = windows.window(sharding, shape)
    out = empty(windows.shape_of(window), data[0].dtype)
    unreduced = (
        sharding if isinstance(sharding, NamedSharding) and sharding.spec.unreduced else None
    )
    if unreduced is not None and not sharding.is_fully_addressable:
        raise ValueError(
            f"{api_name}: {sharding} is unreduced over devices of several processes, which only a "
            "jitted function can reduce; create an array with the partial sums along a new axis, "
            "and sum over that axis in a jitted function"
        )
    indices = tiling.indices(shape)
    tiles = [
        (tiling.tiles[k], windows.within(indices[k], window))
        for k, device in enumerate(sharding.device_order)
        if device.is_addressable
    ]
    each = None
    if unreduced is None:
        _fill(out, data, tiles)
    else:
        each = _fill_with_sum(out, data, tiles, unreduced)
    array = placed_array(
        out, explicit.typed(aval, sharding), sharding, windows.first_device(sharding)
    )
    if each is not None:
        terms.attach(array, each)
    return array


def _without_parts(
    api_name: str, shape: tuple[int, ...], sharding: Sharding, dtype: DTypeLike | None
) -> NativeArray:
    """Makes an array that has no shard on this process's devices."""
    if dtype is None:
        raise _no_dtype(api_name)
    aval = explicit.typed(shaped_array(shape, _kind(dtype)), sharding)
    none = empty(windows.window_shape(sharding, shape), dtypes.physical_dtype(_kind(dtype)))
    return placed_array(none, aval, sharding, windows.first_device(sharding))


def _data_of_parts(
    parts: Sequence[Any], shape: tuple[int, ...], dtype: DTypeLike | None
) -> tuple[list[np.ndarray], ShapedArray]:
    """Returns the data of the shards in one dtype, and the type of the global array."""
    first = parts[0]
    if dtypes.is_extended(getattr(first, "dtype", None)):
        return [part._value for part in parts], first.aval.update(shape=shape)
    data = [np.asarray(part, dtype) for part in parts]
    kind = dtypes.canonicalize_dtype(data[0].dtype)
    aval = shaped_array(shape, kind, bool(getattr(first, "weak_type", False)))
    return [part.astype(kind, copy=False) for part in data], aval


_Tile: TypeAlias = tuple[tuple[int, ...], tuple[Any, ...]]
"""The shard of one device: its position along each axis, and its slices of the process's window."""


def _fill(out: np.ndarray, data: Sequence[np.ndarray], tiles: Sequence[_Tile]) -> None:
    """Writes the shards to `out`; the first of several replicas is used."""
    seen: set[tuple[int, ...]] = set()
    for part, (tile, index) in zip(data, tiles, strict=True):
        if tile not in seen:
            out[index] = part
        seen.add(tile)


def _fill_with_sum(
    out: np.ndarray, data: Sequence[np.ndarray], tiles: Sequence[_Tile], sharding: NamedSharding
) -> np.ndarray:
    """Writes the sum of the terms to `out`; returns the terms as `terms.attach` expects them.

    All devices of `sharding` must belong to this process, so that `out` is the global array.
    """
    sizes = [sharding.mesh.shape[name] for name in terms.names_of_terms(sharding)]
    each = np.zeros((*sizes, *out.shape), out.dtype)
    seen: set[tuple[int, ...]] = set()
    written: set[tuple[object, ...]] = set()
    for part, (tile, index), at in zip(data, tiles, terms.positions(sharding), strict=True):
        if (tile, at) not in written:  # devices along other axes hold replicas
            each[(*at, *index)] = part
            out[index] = part if tile not in seen else out[index] + part
            written.add((tile, at))
        seen.add(tile)
    return each


def _no_dtype(api_name: str) -> ValueError:
    return ValueError(
        f"jax.{api_name}: no shard of the array is on the devices of this process, so its dtype "
        "cannot be inferred: pass `dtype`"
    )


def _kind(dtype: DTypeLike) -> dtypes.DType:
    return dtype if dtypes.is_extended(dtype) else dtypes.canonicalize_dtype(dtype)
