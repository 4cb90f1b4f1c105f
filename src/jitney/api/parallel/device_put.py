"""Moving values to and from devices, waiting for them, and listing devices and processes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import prefix_errors
from jitney.core.sharding.mesh import AbstractMesh, get_mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Sharding
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types import dtypes
from jitney.core.types.avals import is_valid_operand
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives.array import placement, resharding
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.arrays.array_interceptors import features as array_interceptors
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device
from jitney.runtime.devices.sharding import Format

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, PyTree

T = TypeVar("T")

_PLACES = (Device, Sharding, PartitionSpec, Format)
_TARGETS = (*_PLACES, MemorySpace)
_Place: TypeAlias = Device | Sharding | PartitionSpec | Format | MemorySpace


def _device_meant(place: object) -> str:
    """Returns the expression to use instead of an invalid `device`, such as a platform name."""
    return f'jax.devices("{place}")[0]' if place in ("cpu", "gpu", "tpu") else "jax.devices()[0]"


@overload
def device_put(
    x: ArrayLike,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: PyTree = False,
    may_alias: bool | None = None,
) -> Array: ...


@overload
def device_put(
    x: T,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: PyTree = False,
    may_alias: bool | None = None,
) -> T: ...


def device_put(
    x: PyTree,
    device: PyTree = None,
    *,
    src: PyTree = None,
    donate: PyTree = False,
    may_alias: bool | None = None,
) -> object:
    """Copies `x`, a pytree whose leaves are arrays and scalars, to `device`.

    If `device` is given, the results are committed: computations on them run on that device, and
    operations on arrays that are committed to different devices raise an error.

    Args:
      x: a pytree of arrays and scalars.
      device: a `Device`, a `Sharding`, a `PartitionSpec` on the context mesh (`jax.set_mesh`), or a
        memory space, `jax.memory.Space.Host` or `.Device`, of the devices where an array is; or a
        pytree of these that is a prefix of `x`. None leaves arrays where they are, and puts all
        other leaves on the default device, uncommitted.
      src: the place from which traced arrays come, specified like `device`; their cotangents are
        moved back there. It has no effect outside of traces.
      donate: whether the memory of arrays in `x` may be reused: a boolean, or a pytree of booleans
        that is a prefix of `x`. Donated arrays are deleted, and must not be used afterwards.
      may_alias: whether results may share memory with `x`. By default they may; False forces
        copies.

    Returns: a pytree of arrays.

    Raises:
      TypeError: if a leaf is not an array or a scalar.
      ValueError: if `device` or `src` is none of the above, if an array cannot be sharded as
        requested, or if both `donate` and `may_alias` are requested.

    Example:
      >>> jax.device_put({"w": jnp.ones(2), "n": jnp.arange(3)}, jax.devices()[0])
      {'n': Array([0, 1, 2], dtype=int32), 'w': Array([1., 1.], dtype=float32)}
    """
    given_up = [bool(d) for d in pytrees.broadcast_prefix(donate, x)]
    if any(given_up) and may_alias:
        raise ValueError(
            "jax.device_put: a buffer can be either donated (`donate`) or shared with the result "
            "(`may_alias`), but both were requested; omit one of them"
        )
    for place in pytrees.tree_leaves((device, src)):
        if not isinstance(place, _TARGETS) or place is MemorySpace.Any:
            raise ValueError(
                "device_put: `device` and `src` must be None, a Device, a Sharding, a PartitionSpec, "
                "a Format, jax.memory.Space.Device or .Host, or a pytree of these, but got "
                f"{place!r}\n"
                f"Instead: {_device_meant(place)}"
            )

    leaves, tree = pytrees.tree_flatten(x)
    for leaf in leaves:
        if not is_valid_operand(leaf):
            raise TypeError(
                f"device_put: leaves must be arrays or scalars, but '{leaf}' is of type "
                f"{type(leaf)}"
            )
    places, srcs = [
        [option] * len(leaves)
        if option is None or isinstance(option, _TARGETS)
        else _spread_over(option, x)
        for option in (device, src)
    ]
    for leaf, place in zip(leaves, places, strict=True):
        if isinstance(place, Format):
            place.check_fits(np.shape(leaf))
    if state.trace is not state.eval_trace and leaves:
        return pytrees.tree_unflatten(
            tree, placement.device_put(leaves, places, srcs, donate=any(given_up))
        )
    placed: list[Any] = []
    for leaf, place, is_given_up in zip(leaves, places, given_up, strict=True):
        where = None if place is None else placement.sharding_of(place, leaf)
        for feature in array_interceptors.installed:
            feature.check_put(leaf, where)
        value: Any = as_value(leaf)  # not a tracer: it has data
        out = value if where is None else _placed(value, where)
        if may_alias is False:  # the result must not share memory with `x`
            out = copy.copy(out)
        if is_given_up and out is not leaf and isinstance(leaf, ArrayImpl):
            leaf.delete()
        placed.append(out)
    return pytrees.tree_unflatten(tree, placed)


def _placed(x: ArrayImpl, where: Sharding) -> ArrayImpl:
    """Moves `x` to the sharding `where`; returns `x` itself if it is committed there already."""
    where.check_compatible_aval(x.shape)
    return x if x.placement == where else x.placed(where)


def _spread_over(places: PyTree, x: PyTree) -> list[_Place | None]:
    """Returns the device or sharding for each leaf of `x`.

    Raises:
      ValueError: if `places` is not a tree prefix of `x`.
    """
    try:
        return pytrees.broadcast_prefix(places, x, is_leaf=_is_none)
    except ValueError as error:
        mismatches = [str(make("device")) for make in prefix_errors(places, x, _is_none)]
        if not mismatches:
            raise
        raise ValueError(
            "jax.device_put: `device` has to be a tree prefix of `x`, but differs in "
            f"{len(mismatches)} places:\n" + "\n".join(mismatches)
        ) from error


def _is_none(place: object) -> bool:
    return place is None


@overload
def with_sharding_constraint(x: ArrayLike, shardings: PyTree) -> Array: ...


@overload
def with_sharding_constraint(x: T, shardings: PyTree) -> T: ...


def with_sharding_constraint(x: PyTree, shardings: PyTree) -> object:
    """Constrains the sharding of `x`, a pytree of arrays.

    Args:
      x: a pytree of arrays.
      shardings: a `Sharding`, or a `PartitionSpec` on the context mesh, for all leaves, or a pytree
        of these that is a prefix of `x`.

    Returns: `x` with these shardings.

    Raises:
      TypeError: if a leaf of `shardings` is not a sharding.
      RuntimeError: if a PartitionSpec is given, but there is no context mesh.
      ValueError: if `shardings` is not a prefix of `x`, if an array cannot be sharded as requested,
        or if a sharding names mesh axes that are not Auto.
      AssertionError: if all axes of the context mesh are Explicit, and the type of an array has
        another sharding than requested.
    """
    leaves, tree = pytrees.tree_flatten(x)
    if isinstance(shardings, _PLACES):
        places = [shardings] * len(leaves)
    else:
        places = pytrees.broadcast_prefix(shardings, x, is_leaf=lambda place: place is None)
    out: list[Any] = []
    for leaf, place in zip(leaves, places, strict=True):
        if not isinstance(leaf, ArrayImpl | Tracer) and _is_of_axes(place) and get_mesh().empty:
            raise ValueError(
                f"with_sharding_constraint to {place}, which has no devices: the devices are "
                "taken from the value, which must be a jax.Array sharded over a mesh, but is of "
                f"type {type(leaf)}; place it on the mesh first, with jax.device_put"
            )
        out.append(resharding.sharding_constraint(as_value(leaf), place))
    return pytrees.tree_unflatten(tree, out)


def _is_of_axes(place: object) -> bool:
    """Returns whether a sharding is on an abstract mesh, which has no devices."""
    return isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh)


@overload
def device_get(x: Array) -> np.ndarray: ...


@overload
def device_get(x: T) -> T: ...


def device_get(x: PyTree) -> object:
    """Returns `x` with its arrays converted to NumPy arrays.

    Args:
      x: a pytree. Leaves of other types that have a method `__array__` are converted by it; all
        other leaves are returned unchanged, including tracers, which have no data yet.

    Example:
      >>> jax.device_get({"a": jnp.arange(3), "b": "text"})
      {'a': array([0, 1, 2], dtype=int32), 'b': 'text'}
    """

    def get(leaf: PyTree) -> object:
        if isinstance(leaf, Tracer):
            return leaf
        if isinstance(leaf, ArrayImpl):
            if dtypes.is_extended(leaf.dtype):
                return leaf
            return np.asarray(leaf)
        to_array = getattr(leaf, "__array__", None)
        return leaf if to_array is None else to_array()

    return pytrees.tree_map(get, x)


def block_until_ready(x: T) -> T:
    """Waits until all arrays in `x` are computed; returns `x`.

    Args:
      x: a pytree; leaves that are not arrays are ignored.

    Example:
      >>> jax.block_until_ready(jnp.arange(3) * 2)
      Array([0, 2, 4], dtype=int32)
    """
    for leaf in pytrees.tree_leaves(x):
        wait = getattr(leaf, "block_until_ready", None)
        if wait is not None:
            wait()
    return x


def copy_to_host_async(x: T) -> T:
    """Starts copying all arrays in the pytree `x` to the host; returns `x`.

    Example:
      >>> x = jax.copy_to_host_async(jnp.arange(3))
      >>> x.tolist()
      [0, 1, 2]
    """
    for leaf in pytrees.tree_leaves(x):
        copy = getattr(leaf, "copy_to_host_async", None)
        if copy is not None:
            copy()
    return x


def devices(backend: str | None = None) -> list[Device]:
    """Returns the devices of all processes for a backend, in the order of their ids.

    Args:
      backend: "cpu", or None for the default.

    Raises:
      RuntimeError: if `backend` is unknown.

    Example:
      >>> len(jax.devices()) == jax.device_count()
      True
    """
    return client.client(backend).devices()


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Returns the devices of a process.

    Args:
      process_index: the index of the process; this process by default.
      backend: "cpu", or None for the default.
      host_id: the older name of `process_index`.

    Example:
      >>> jax.local_devices() == jax.devices()
      True

    Raises:
      ValueError: if there is no process with that index.
    """
    process = host_id if process_index is None else process_index
    if process is not None and process not in process_indices():
        raise ValueError(f"Unknown process_index {process}: the processes are {process_indices()}")
    return client.client(backend).local_devices(process)


def device_count(backend: str | None = None) -> int:
    """Returns the total number of devices of all processes.

    Args:
      backend: "cpu", or None for the default.

    Raises:
      RuntimeError: if `backend` is unknown.

    Example:
      >>> jax.device_count() == len(jax.devices("cpu"))
      True
    """
    return client.client(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """Returns the number of devices of this process.

    Args:
      backend: "cpu", or None for the default.

    Raises:
      RuntimeError: if `backend` is unknown.

    Example:
      >>> jax.local_device_count() == jax.device_count()
      True
    """
    return client.client(backend).local_device_count()


def process_index(backend: str | None = None) -> int:
    """Returns the index of this process, which is 0 unless it has joined other processes.

    Example:
      >>> jax.process_index()
      0
    """
    return client.client(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """Returns the number of processes that have joined (`jax.distributed.initialize`), or 1.

    Example:
      >>> jax.process_count()
      1
    """
    return len(client.client(backend).process_indices())


def process_indices(backend: str | None = None) -> list[int]:
    """Returns the indices of all processes.

    Example:
      >>> jax.process_indices()
      [0]
    """
    return client.client(backend).process_indices()


host_count, host_id, host_ids = process_count, process_index, process_indices


def default_backend() -> str:
    """Returns the platform on which programs run: "cpu".

    Example:
      >>> jax.default_backend()
      'cpu'
    """
    return client.client().platform
