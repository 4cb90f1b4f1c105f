"""`jax.experimental.multihost_utils`: communication among the processes of a program.

All processes (`jax.distributed.initialize`) must make the same calls in the same order; a mismatch
raises an error in all of them. In a program of a single process the calls return immediately, so
that libraries can use them unconditionally, for example to write checkpoints.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.host_local import (
    global_array_to_host_local_array_impl as global_array_to_host_local_array_impl,
    global_array_to_host_local_array_p as global_array_to_host_local_array_p,
    gtl_abstract_eval as gtl_abstract_eval,
    host_local_array_to_global_array_impl as host_local_array_to_global_array_impl,
    host_local_array_to_global_array_p as host_local_array_to_global_array_p,
    ltg_abstract_eval as ltg_abstract_eval,
    ltg_batcher as ltg_batcher,
)
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import client, processes, windows

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import ArrayLike, PyTree
    from jitney.runtime.devices.device import Device

T = TypeVar("T")


@overload
def process_allgather(in_tree: ArrayLike, tiled: bool = False) -> np.ndarray: ...


@overload
def process_allgather(in_tree: T, tiled: bool = False) -> T: ...


def process_allgather(in_tree: PyTree, tiled: bool = False) -> object:
    """Gathers the values of all processes in every process.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      tiled: whether to concatenate the arrays along their first axis, instead of stacking them
        along a new axis.

    Returns: a pytree of NumPy arrays. An array of shape [...] becomes [processes, ...]; if `tiled`,
      an array of shape [n, ...] becomes [processes * n, ...]. For global arrays, whose shards are
      on devices of several processes, `tiled` must be True; the result is the complete array.

    Raises:
      TypeError: if a leaf is a tracer or an array of keys.
      ValueError: if there is a global array and `tiled` is false.
      RuntimeError: if shapes or dtypes differ between processes.

    Example:
      >>> multihost_utils.process_allgather(jnp.arange(3))
      array([[0, 1, 2]], dtype=int32)
    """

    def gathered(leaf: PyTree) -> np.ndarray:
        if isinstance(leaf, ArrayImpl) and windows.is_global(leaf):
            if not tiled:
                raise ValueError(
                    f"process_allgather: {leaf.aval.str_short()} is a global array, sharded over "
                    "devices of several processes; pass tiled=True"
                )
            return _global_array(leaf)
        local = _local_array(leaf)
        if processes.size() == 1:
            return local if tiled else local[None]
        every = processes.stack(f"process_allgather of {_type_text(local)}", local)
        return every.reshape(-1, *local.shape[1:]) if tiled and local.ndim else every

    return pytrees.tree_map(gathered, in_tree)


def _global_array(x: ArrayImpl) -> np.ndarray:
    """Returns the complete contents of a global array, even if no shard is in this process."""
    everywhere = Mesh(np.array(client.client().devices(), object), ("devices",))
    return np.asarray(x.placed(NamedSharding(everywhere, PartitionSpec())))


def _local_array(leaf: PyTree) -> np.ndarray:
    """Returns a leaf as a NumPy array; if there are several processes, its dtype is canonical."""
    local = np.asarray(leaf)
    if processes.size() == 1:
        return local
    return local.astype(dtypes.canonicalize_dtype(local.dtype), copy=False)


def _type_text(x: np.ndarray) -> str:
    return f"an array of shape {x.shape} and dtype {x.dtype}"


@overload
def broadcast_one_to_all(in_tree: ArrayLike, is_source: bool | None = None) -> np.ndarray: ...


@overload
def broadcast_one_to_all(in_tree: T, is_source: bool | None = None) -> T: ...


def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> object:
    """Sends the values of one process to all processes.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      is_source: whether this process is the source; by default process 0 is the source.

    Returns: a pytree of NumPy arrays with the values of the source. In a program of a single
      process, these are its own values regardless of `is_source`.

    Raises:
      TypeError: if a leaf is a tracer or an array of keys.
      ValueError: if there are several processes, and not exactly one of them is the source.
      RuntimeError: if shapes or dtypes differ between processes.

    Example:
      >>> multihost_utils.broadcast_one_to_all({"step": 3})
      {'step': array(3)}
    """
    if processes.size() == 1:
        return pytrees.tree_map(np.asarray, in_tree)
    is_root = processes.rank() == 0 if is_source is None else bool(is_source)
    flags = processes.gather("broadcast_one_to_all", bytes([is_root]))
    sources = [number for number, flag in enumerate(flags) if flag == b"\1"]
    if len(sources) != 1:
        raise ValueError(
            "broadcast_one_to_all: exactly one process must be the source, but is_source is True "
            f"in {sources}"
        )

    def received(leaf: PyTree) -> np.ndarray:
        x = _local_array(leaf)
        what = f"broadcast_one_to_all of {_type_text(x)}"
        return processes.broadcast(what, x, sources[0])

    return pytrees.tree_map(received, in_tree)


def sync_global_devices(name: str) -> None:
    """Waits until all processes have reached this barrier.

    Args:
      name: name of the barrier, which must be the same in all processes.

    Raises:
      TypeError: if `name` is not a string.
      AssertionError: in all processes, if the names of their barriers differ.

    Example:
      >>> multihost_utils.sync_global_devices("the checkpoint is written")
    """
    if not isinstance(name, str):
        raise TypeError(
            "sync_global_devices: the name of the barrier must be a string, but got "
            f"{name!r} of type {type(name).__name__}"
        )
    try:
        processes.meet(f"sync_global_devices({name!r})")
    except RuntimeError as error:
        raise AssertionError(
            f"sync_global_devices: all processes must pass the same name, but {error}"
        ) from None


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Checks that values are the same in all processes.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      fail_message: beginning of the error message.

    Raises:
      AssertionError: if the values differ. NaN is not equal to itself, so it raises an error even
        in a single process.

    Example:
      >>> multihost_utils.assert_equal({"seed": 17}, "seeds")
    """
    gathered = process_allgather(in_tree)
    pairs = zip(pytrees.tree_leaves(in_tree), pytrees.tree_leaves(gathered), strict=True)
    if not all([bool(np.all(np.equal(_local_array(local), every))) for local, every in pairs]):
        raise AssertionError(
            f"{fail_message or 'assert_equal'}: processes have different values. The value in this "
            f"process is {in_tree}, and the values in all processes are {gathered}"
        )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Returns False: no process is about to be preempted.

    In JAX, the result tells programs to save their state before a preemption. Processes started by
    MPI receive no notice of preemption.

    Args:
      step_id: index of the step that all processes have reached.

    Example:
      >>> multihost_utils.reached_preemption_sync_point(100)
      False
    """
    return False


class ProcessFailureError(Exception):
    """The failure of a process that others depend on.

    This exception exists for libraries that catch it. It is never raised in jitney, where a process
    that fails terminates all others.
    """


@contextlib.contextmanager
def live_devices(devices: Sequence[Device]) -> Generator[list[Device]]:
    """Returns a context manager that yields the given devices whose processes are alive.

    All processes must enter and leave the context. A process that fails terminates all others, so
    that all devices are always returned.

    Args:
      devices: the devices to be used.

    Raises:
      RuntimeError: if other processes make a different call, or pass different devices.

    Example:
      >>> with multihost_utils.live_devices(jax.devices()) as devices:
      ...     devices == jax.devices()
      True
    """
    chosen = list(devices)
    processes.agree(str([device.id for device in chosen]).encode(), "live_devices")
    yield chosen
    processes.meet("the end of live_devices")


def host_local_array_to_global_array(local_inputs: T, global_mesh: Mesh, pspecs: PyTree) -> T:
    """Assembles global arrays from the local data of all processes.

    Args:
      local_inputs: a pytree of arrays and scalars, the data of this process.
      global_mesh: mesh of the global arrays.
      pspecs: shardings, a pytree of `PartitionSpec`s or a prefix of such a pytree.

    Returns: a pytree of arrays on `global_mesh`. The size of an axis that is sharded among
      processes is the sum of the local sizes.

    Raises:
      TypeError: if `global_mesh` is not a mesh of devices.
      ValueError: if `pspecs` is not a prefix of the pytree or has None for an array, or if an array
        cannot be sharded as requested.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> spec = jax.sharding.PartitionSpec("x")
      >>> joined = multihost_utils.host_local_array_to_global_array
      >>> joined(jnp.arange(3), mesh, spec).sharding.spec
      P('x',)
    """

    return _map_with_places(
        "host_local_array_to_global_array",
        host_local_array_to_global_array_p,
        local_inputs,
        global_mesh,
        pspecs,
    )


def global_array_to_host_local_array(global_inputs: T, global_mesh: Mesh, pspecs: PyTree) -> T:
    """Returns the local data that this process has of global arrays.

    Args:
      global_inputs: a pytree of arrays and scalars.
      global_mesh: mesh of the global arrays.
      pspecs: shardings, a pytree of `PartitionSpec`s or a prefix of such a pytree.

    Returns: a pytree of arrays on the devices of `global_mesh` that belong to this process. If all
      devices of the mesh belong to it, jitney arrays are returned unchanged, and NumPy arrays and
      scalars are put on `global_mesh`.

    Raises:
      TypeError: if `global_mesh` is not a mesh of devices.
      ValueError: if `pspecs` is not a prefix of the pytree or has None for an array, or if a NumPy
        array cannot be sharded as requested.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> spec = jax.sharding.PartitionSpec("x")
      >>> own_part = multihost_utils.global_array_to_host_local_array
      >>> own_part(jnp.arange(3), mesh, spec)
      Array([0, 1, 2], dtype=int32)
    """

    return _map_with_places(
        "global_array_to_host_local_array",
        global_array_to_host_local_array_p,
        global_inputs,
        global_mesh,
        pspecs,
    )


def _map_with_places(
    api_name: str,
    move: Primitive,
    tree: T,
    mesh: Mesh,
    pspecs: PyTree,
) -> T:
    """Applies `move` to each leaf with its PartitionSpec; leaves that are None stay None."""
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{api_name}: global_mesh must be a Mesh of devices, but got {mesh!r}")
    leaves, structure = pytrees.tree_flatten(tree, is_leaf=_is_none)
    specs = pytrees.broadcast_prefix(pspecs, tree, is_leaf=_is_none)
    out: list[Any] = []
    for leaf, spec in zip(leaves, specs, strict=True):
        if leaf is not None and not isinstance(spec, PartitionSpec):
            raise ValueError(
                f"{api_name}: pspecs must have a PartitionSpec for each array, but got {spec!r}; use "
                "PartitionSpec() to replicate an array"
            )
        if leaf is None:
            out.append(None)
        elif isinstance(leaf, Tracer):
            out.append(move.bind(leaf, global_mesh=mesh, pspec=spec))
        else:
            out.append(move.impl(leaf, global_mesh=mesh, pspec=spec))
    return pytrees.tree_unflatten(structure, out)


def _is_none(leaf: object) -> bool:
    return leaf is None


__all__ = [
    "ProcessFailureError", "assert_equal", "broadcast_one_to_all",
    "global_array_to_host_local_array", "global_array_to_host_local_array_impl",
    "global_array_to_host_local_array_p", "gtl_abstract_eval", "host_local_array_to_global_array",
    "host_local_array_to_global_array_impl", "host_local_array_to_global_array_p", "live_devices",
    "ltg_abstract_eval", "ltg_batcher", "process_allgather", "reached_preemption_sync_point",
    "sync_global_devices",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
