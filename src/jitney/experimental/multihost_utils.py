"""`jax.experimental.multihost_utils`: communication among the processes of a program.

All processes (`jax.distributed.initialize`) come to the same calls in the same order; a difference is
an error in all of them. A single process communicates with no other, and does not wait. Libraries call
these functions, in one process as in many: for checkpoints, above all.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes
from jitney.core.lazy import listing, refusing
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.trace import Tracer
from jitney.experimental.host_local import (
    global_array_to_host_local_array_impl as global_array_to_host_local_array_impl,
    global_array_to_host_local_array_p as global_array_to_host_local_array_p,
    gtl_abstract_eval as gtl_abstract_eval,
    host_local_array_to_global_array_impl as host_local_array_to_global_array_impl,
    host_local_array_to_global_array_p as host_local_array_to_global_array_p,
    ltg_abstract_eval as ltg_abstract_eval,
    ltg_batcher as ltg_batcher,
)
from jitney.runtime import client, processes, windows
from jitney.runtime.array import ArrayImpl

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from jitney.core.primitive import Primitive
    from jitney.core.typing import PyTree
    from jitney.runtime.device import Device


def process_allgather(in_tree: PyTree, tiled: bool = False) -> PyTree:
    """Gathers the values of all processes in every process.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      tiled: whether the processes' arrays are joined along their first axis, and not along a new one.

    Returns: a pytree of NumPy arrays. One of shape [...] becomes [processes, ...]; if `tiled`, one of
    shape [n, ...] becomes [processes * n, ...]. Of an array on devices of several processes, which
    has to be `tiled`, it is the whole.

    Raises:
      TypeError: if a leaf is a tracer, or an array of keys.
      ValueError: if an array on devices of several processes is not to be tiled.
      RuntimeError: if processes have arrays of different shapes or dtypes.

    Example:
      >>> multihost_utils.process_allgather(jnp.arange(3))
      array([[0, 1, 2]], dtype=int32)
    """

    def gathered(leaf: PyTree) -> np.ndarray:
        if isinstance(leaf, ArrayImpl) and windows.is_global(leaf):
            if not tiled:
                raise ValueError(
                    f"process_allgather: {leaf.aval.str_short()} is a global array, divided over "
                    "devices of several processes: pass tiled=True"
                )
            return _global_array(leaf)
        local = _local_array(leaf)
        if processes.size() == 1:
            return local if tiled else local[None]
        every = processes.stack(f"process_allgather of {_type_text(local)}", local)
        return every.reshape(-1, *local.shape[1:]) if tiled and local.ndim else every

    return pytrees.tree_map(gathered, in_tree)


def _global_array(x: ArrayImpl) -> np.ndarray:
    """Returns all of a distributed array, also where this process has no part of it."""
    everywhere = Mesh(np.array(client.client().devices(), object), ("devices",))
    return np.asarray(x.placed(NamedSharding(everywhere, PartitionSpec())))


def _local_array(leaf: PyTree) -> np.ndarray:
    """Returns a leaf as a NumPy array, of a canonical dtype if there are other processes."""
    local = np.asarray(leaf)
    if processes.size() == 1:
        return local
    return local.astype(dtypes.canonicalize_dtype(local.dtype), copy=False)


def _type_text(x: np.ndarray) -> str:
    return f"an array of shape {x.shape} and dtype {x.dtype}"


def broadcast_one_to_all(in_tree: PyTree, is_source: bool | None = None) -> PyTree:
    """Sends the values of one process to every process.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      is_source: whether this process is the source; by default the first one is.

    Returns: a pytree of NumPy arrays, those of the source. A single process gets its own
    values, whatever `is_source` is.

    Raises:
      TypeError: if a leaf is a tracer, or an array of keys.
      ValueError: if there is not one source among several processes.
      RuntimeError: if processes have arrays of different shapes or dtypes.

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
            f"broadcast_one_to_all: one process has to be the source, is_source is true in {sources}"
        )

    def received(leaf: PyTree) -> np.ndarray:
        x = _local_array(leaf)
        what = f"broadcast_one_to_all of {_type_text(x)}"
        return processes.broadcast(what, x, sources[0])

    return pytrees.tree_map(received, in_tree)


def sync_global_devices(name: str) -> None:
    """Waits until all processes have come here.

    Args:
      name: of this place in the program; processes that wait at another one are an error.

    Raises:
      TypeError: if `name` is not a string.
      AssertionError: in all processes, if they have come to different places.

    Example:
      >>> multihost_utils.sync_global_devices("the checkpoint is written")
    """
    if not isinstance(name, str):
        raise TypeError(
            f"sync_global_devices takes the name of a place in the program, a string, not {name!r} of "
            f"type {type(name).__name__}"
        )
    try:
        processes.meet(f"sync_global_devices({name!r})")
    except RuntimeError as error:
        raise AssertionError(
            f"sync_global_devices: all processes must pass one name, but {error}"
        ) from None


def assert_equal(in_tree: PyTree, fail_message: str = "") -> None:
    """Checks that all processes have the same numbers.

    Args:
      in_tree: a pytree of arrays and scalars, of the same shapes in all processes.
      fail_message: what the error begins with.

    Raises:
      AssertionError: if they have not. NaN is not equal to itself, so it is an error in one process,
        too.

    Example:
      >>> multihost_utils.assert_equal({"seed": 17}, "seeds")
    """
    gathered = process_allgather(in_tree)
    pairs = zip(pytrees.tree_leaves(in_tree), pytrees.tree_leaves(gathered), strict=True)
    if not all([bool(np.all(np.equal(_local_array(local), every))) for local, every in pairs]):
        raise AssertionError(
            f"{fail_message or 'assert_equal'}: processes have different values. This one has "
            f"{in_tree}, all of them {gathered}"
        )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Returns whether to save state now because a process is about to be preempted.

    Processes started by MPI get no notice of preemption, so the result is always False.

    Args:
      step_id: the number of the step that all processes have come to.

    Example:
      >>> multihost_utils.reached_preemption_sync_point(100)
      False
    """
    return False


class ProcessFailureError(Exception):
    """A process that others relied on has failed.

    Libraries catch it. It is never raised here: a process that fails ends all others, too.
    """


@contextlib.contextmanager
def live_devices(devices: Sequence[Device]) -> Generator[list[Device]]:
    """Returns a context for work on the devices of live processes; it yields these devices.

    All processes enter it, and come to its end. If one of them fails all end, so those that are left
    have all devices.

    Args:
      devices: the devices that the work is to be done on.

    Raises:
      RuntimeError: if processes have come to something else, or give other devices.

    Example:
      >>> with multihost_utils.live_devices(jax.devices()) as devices:
      ...     devices == jax.devices()
      True
    """
    chosen = list(devices)
    processes.agree(str([device.id for device in chosen]).encode(), "live_devices")
    yield chosen
    processes.meet("the end of live_devices")


def host_local_array_to_global_array(
    local_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Assembles global arrays from the parts that processes have.

    Args:
      local_inputs: a pytree of arrays and scalars: this process's parts.
      global_mesh: the devices that the arrays are to lie on.
      pspecs: a `PartitionSpec`, or a prefix of the tree of them: how they are divided.

    Returns: a pytree of arrays on `global_mesh`: along axes that are divided among processes they are
    as long as all parts together.

    Raises:
      TypeError: if `global_mesh` is not a mesh of devices.
      ValueError: if `pspecs` is not a prefix of the tree, has None for an array, or an array cannot be
        divided so.

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


def global_array_to_host_local_array(
    global_inputs: PyTree, global_mesh: Mesh, pspecs: PyTree
) -> PyTree:
    """Returns this process's parts of global arrays.

    Args:
      global_inputs: a pytree of arrays and scalars.
      global_mesh: the devices that arrays lie on.
      pspecs: a `PartitionSpec`, or a prefix of the tree of them: how they are divided.

    Returns: a pytree of arrays on the devices of `global_mesh` that are this process's. Where these are
    all, arrays stay as they are; NumPy arrays and scalars are put on `global_mesh`.

    Raises:
      TypeError: if `global_mesh` is not a mesh of devices.
      ValueError: if `pspecs` is not a prefix of the tree, has None for an array, or a NumPy array
        cannot be divided so.

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
    asked_by: str,
    move: Primitive,
    tree: PyTree,
    mesh: Mesh,
    pspecs: PyTree,
) -> PyTree:
    """Returns the tree of leaves that `move` has moved, each as its spec says; None stays."""
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{asked_by}: global_mesh is a Mesh of devices, not {mesh!r}")
    leaves, structure = pytrees.tree_flatten(tree, is_leaf=_is_none)
    specs = pytrees.broadcast_prefix(pspecs, tree, is_leaf=_is_none)
    out: list[Any] = []
    for leaf, spec in zip(leaves, specs, strict=True):
        if leaf is not None and not isinstance(spec, PartitionSpec):
            raise ValueError(
                f"{asked_by}: pspecs has {spec!r} for an array, where a PartitionSpec is wanted: "
                "PartitionSpec() replicates it"
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
