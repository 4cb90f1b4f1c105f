"""The terms of unreduced arrays: each device's addend of the sum.

The data of an unreduced array are the sum. The terms of its devices are a separate array, with a
leading axis for each mesh axis along which the array is unreduced, in the mesh's order. It lives as
long as the unreduced array. If there is no array of terms, the first device along these axes has
the sum, and the others have zeros.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.core.sharding.mesh import AbstractMesh, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.runtime.native._native import NativeArray

Names: TypeAlias = tuple[Any, ...]

_of: dict[int, tuple[weakref.ref[NativeArray], np.ndarray]] = {}  # by the identity of the sum


def names_of_terms(sharding: object) -> Names:
    """Returns the mesh axes along which arrays with `sharding` are unreduced."""
    if not isinstance(sharding, NamedSharding) or not sharding.spec.unreduced:
        return ()
    return tuple([name for name in sharding.mesh.axis_names if name in sharding.spec.unreduced])


def place_of_terms(sharding: NamedSharding) -> NamedSharding:
    """Returns the sharding of the terms of an array with `sharding`."""
    spec = PartitionSpec(*names_of_terms(sharding), *sharding.spec)
    return NamedSharding(sharding.mesh, spec)


def attach(x: NativeArray, terms: np.ndarray) -> None:
    """Attaches `terms`, with a leading axis per unreduced mesh axis, to their sum `x`."""
    key = id(x)
    _of[key] = weakref.ref(x, lambda _: _of.pop(key, None)), terms


def of_array(x: NativeArray) -> np.ndarray | None:
    """Returns the terms of `x`; None if it is not unreduced, or if the first device has the sum."""
    entry = _of.get(id(x)) if _of else None
    return None if entry is None or entry[0]() is not x else entry[1]


def positions(sharding: NamedSharding) -> list[tuple[int, ...]]:
    """Returns the leading indices of the term of each device, in the sharding's order."""
    own = [sharding.mesh.axis_names.index(name) for name in names_of_terms(sharding)]
    return [tuple([at[k] for k in own]) for at in np.ndindex(*sharding.mesh.axis_sizes)]


def owners(
    names: Names, mesh: Mesh | AbstractMesh, entries: Sequence[Names], shape: tuple[int, ...]
) -> list[np.ndarray]:
    """Returns masks of the elements that each device keeps when an array becomes unreduced.

    Along the mesh axes in `names` that shard an array axis, each device keeps its shard and has
    zeros elsewhere, provided that the array axis is sharded along axes in `names` only. Along all
    other mesh axes in `names`, the first device keeps all elements.

    Args:
      names: the mesh axes along which the array becomes unreduced.
      mesh: the mesh.
      entries: for each axis of the array, the mesh axes that shard it.
      shape: the shape of the array.

    Returns: for each of `names`, a boolean array that broadcasts to the shape of all terms.
    """
    masks: list[np.ndarray] = []
    for k, name in enumerate(names):
        size = mesh.shape[name]
        lifted = [1] * (len(names) + len(shape))
        lifted[k] = size
        has = np.arange(size) == 0
        for axis, entry in enumerate(entries):
            if name not in entry or not set(entry).issubset(names):
                continue  # an array axis that other mesh axes shard as well is gathered first
            after = [mesh.shape[other] for other in entry[entry.index(name) + 1 :]]
            parts = int(np.prod([mesh.shape[other] for other in entry], dtype=int))
            width = shape[axis] // parts * int(np.prod(after, dtype=int))
            lifted[len(names) + axis] = shape[axis]
            has = np.arange(shape[axis]) // width % size == np.arange(size)[:, None]
        masks.append(has.reshape(lifted))
    return masks


def spread(data: np.ndarray, old: object, sharding: NamedSharding) -> np.ndarray | None:
    """Returns the terms of an array moved from `old` to the unreduced sharding `sharding`.

    The result is None if the first device keeps all elements.
    """
    names = names_of_terms(sharding)
    if not isinstance(old, NamedSharding) or old.mesh.shape_tuple != sharding.mesh.shape_tuple:
        return None
    entries = [names_of(entry) for entry in old.spec]
    entries += [()] * (data.ndim - len(entries))
    if old.spec.unreduced or not any([name in entry for name in names for entry in entries]):
        return None
    has = np.array(True)
    for own in owners(names, sharding.mesh, entries, data.shape):
        has = has & own
    return np.where(has, data, np.zeros((), data.dtype))
