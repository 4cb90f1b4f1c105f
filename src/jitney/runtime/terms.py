"""The terms of unreduced arrays: what each device has of their sums.

Such an array lies in memory as its sum, as all others do. What its devices have is an array of its own
beside it, with an axis in front for each axis of the mesh along which the array is unreduced, in the
mesh's order; it lives as long as the array. Where there is none, the first device along these
axes has the sum, and the others have zeros.
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


def names_of_terms(place: object) -> Names:
    """Returns the axes of the mesh along which arrays that lie as `place` says are unreduced."""
    if not isinstance(place, NamedSharding) or not place.spec.unreduced:
        return ()
    return tuple([name for name in place.mesh.axis_names if name in place.spec.unreduced])


def place_of_terms(place: NamedSharding) -> NamedSharding:
    """Returns where the terms of an array are put that lies as `place` says."""
    spec = PartitionSpec(*names_of_terms(place), *place.spec)
    return NamedSharding(place.mesh, spec)


def attach(x: NativeArray, terms: np.ndarray) -> None:
    """Says that the devices of the sum `x` have `terms`, an axis in front for each of the mesh's."""
    key = id(x)
    _of[key] = weakref.ref(x, lambda _: _of.pop(key, None)), terms


def of_array(x: NativeArray) -> np.ndarray | None:
    """Returns the terms of `x`; None if it is not a sum, or the first device has it."""
    entry = _of.get(id(x)) if _of else None
    return None if entry is None or entry[0]() is not x else entry[1]


def positions(place: NamedSharding) -> list[tuple[int, ...]]:
    """For each device in the sharding's order where its term is among those of an array."""
    own = [place.mesh.axis_names.index(name) for name in names_of_terms(place)]
    return [tuple([at[k] for k in own]) for at in np.ndindex(*place.mesh.axis_sizes)]


def owners(
    names: Names, mesh: Mesh | AbstractMesh, entries: Sequence[Names], shape: tuple[int, ...]
) -> list[np.ndarray]:
    """Returns which elements each device has of an array that is put where it is to be terms of a sum.

    Of what is divided along these axes alone each device has its part, and zeros elsewhere; of what is
    not the first one has all.

    Args:
      names: axes of the mesh along which it is to be unreduced.
      mesh: the mesh.
      entries: for each axis of the array, those of the mesh that divide it.
      shape: of the array.

    Returns: for each of `names` an array of booleans that can be broadcast to that of all terms.
    """
    masks: list[np.ndarray] = []
    for k, name in enumerate(names):
        size = mesh.shape[name]
        lifted = [1] * (len(names) + len(shape))
        lifted[k] = size
        has = np.arange(size) == 0
        for axis, entry in enumerate(entries):
            if name not in entry or not set(entry).issubset(names):
                continue  # along other axes it is gathered first
            after = [mesh.shape[other] for other in entry[entry.index(name) + 1 :]]
            parts = int(np.prod([mesh.shape[other] for other in entry], dtype=int))
            width = shape[axis] // parts * int(np.prod(after, dtype=int))
            lifted[len(names) + axis] = shape[axis]
            has = np.arange(shape[axis]) // width % size == np.arange(size)[:, None]
        masks.append(has.reshape(lifted))
    return masks


def spread(data: np.ndarray, old: object, place: NamedSharding) -> np.ndarray | None:
    """The terms of an array that lay as `old` says, put where `place` says; None: the first has all."""
    names = names_of_terms(place)
    if not isinstance(old, NamedSharding) or old.mesh.shape_tuple != place.mesh.shape_tuple:
        return None
    entries = [names_of(entry) for entry in old.spec]
    entries += [()] * (data.ndim - len(entries))
    if old.spec.unreduced or not any([name in entry for name in names for entry in entries]):
        return None
    has = np.array(True)
    for own in owners(names, place.mesh, entries, data.shape):
        has = has & own
    return np.where(has, data, np.zeros((), data.dtype))
