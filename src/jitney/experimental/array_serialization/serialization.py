"""`jax.experimental.array_serialization.serialization`: arrays are stored while the program goes on.

`serialize` returns as soon as the arrays' numbers are copied; a thread waits for the files, and then
calls what the caller has asked for, such as renaming the folder of a checkpoint. What fails there is
raised by the next call of `check_for_errors` or `wait_until_finished`.
"""

from __future__ import annotations

import abc
import asyncio
import functools
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core import monitoring
from jitney.core.lazy import listing
from jitney.core.pytree import pytrees
from jitney.core.sharding.sharding import Sharding
from jitney.experimental.array_serialization import tensorstore_impl
from jitney.experimental.array_serialization.limits import LimitInFlightBytes
from jitney.experimental.array_serialization.specs import (
    Spec,
    get_tensorstore_spec as _spec_of_path,
    is_remote_storage as is_remote_storage,
)
from jitney.experimental.array_serialization.tensorstore_impl import (
    async_deserialize as async_deserialize,
    async_serialize as async_serialize,
)
from jitney.runtime.sharding import Format

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike, PyTree
    from jitney.runtime.array import ArrayImpl

__dir__ = listing(__name__)


class BarrierTimeoutError(Exception):
    """A process has waited too long for the others."""


def get_tensorstore_spec(
    ckpt_path: Any,
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr",
) -> Spec:
    """Returns the spec of an array that is stored at a path: see `specs.get_tensorstore_spec`.

    Example:
      >>> get_tensorstore_spec("/tmp/state/weights")
      {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/tmp/state/weights'}}
    """
    return _spec_of_path(ckpt_path, ocdbt, process_idx, arr, driver)


def __getattr__(name: str) -> Any:
    if name == "TS_CONTEXT":
        return getattr(tensorstore_impl, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class GlobalAsyncCheckpointManagerBase(abc.ABC):
    """The interface of managers that store arrays asynchronously, and read them."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raises the error of an earlier write, if any."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Waits until everything is stored; raises the error of a write, if any."""

    @abc.abstractmethod
    def serialize(
        self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]
    ) -> None:
        """Begins to store arrays; calls `on_commit_callback` when they are."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Sharding],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[tuple[int, ...]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
    ) -> Any:
        """Reads arrays."""


class AsyncManager:
    """A thread that waits for writes, and then calls a callback.

    Args:
      timeout_secs: how long a process waits for the others; a single process does not wait.
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._commit_futures: list[Any] = []
        self._thread: threading.Thread | None = None
        self._exception: BaseException | None = None

    def _add_futures(self, futures: Sequence[Any]) -> None:
        """Adds futures that the thread waits for."""
        self._commit_futures = list(futures)

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        """Starts the thread; `on_commit_callback` is called in it."""
        futures, self._commit_futures = self._commit_futures, []

        def commit() -> None:
            start = time.time()
            try:
                for future in futures:
                    future.result()
                if on_commit_callback is not None:
                    on_commit_callback()
            except BaseException as error:  # raised where the caller asks for it
                self._exception = error
                return
            monitoring.record_event_duration_secs(
                "/jax/checkpoint/write/async/thread_duration_sec", time.time() - start
            )

        self._thread = threading.Thread(target=commit, name="jitney-commit")
        self._thread.start()

    def check_for_errors(self) -> None:
        """Raises the error of an earlier write, if any, once."""
        error, self._exception = self._exception, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Waits until everything is stored; raises the error of a write, if any."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Stores and reads sequences of arrays.

    Example:
      >>> manager = GlobalAsyncCheckpointManager()
      >>> manager.serialize_with_paths([x], ["/tmp/x"], on_commit_callback=lambda: print("stored"))
      >>> manager.wait_until_finished()
      >>> [x] = manager.deserialize_with_paths([x.sharding], ["/tmp/x"])
    """

    def serialize(
        self,
        arrays: Sequence[Any],
        tensorstore_specs: Sequence[Spec],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Begins to store arrays, after those before them.

        Args:
          arrays: what is stored; may be changed and deleted when this returns.
          tensorstore_specs: where each is; `get_tensorstore_spec` makes them of paths.
          on_commit_callback: called in another thread when all are stored.
          transaction: a transaction of tensorstore's that the writes belong to.

        Raises:
          ValueError: if there are more or fewer specs than arrays; what tensorstore raises for places
            that cannot be written.
        """
        self.wait_until_finished()
        if len(arrays) != len(tensorstore_specs):
            raise ValueError(
                f"serialize: {len(arrays)} arrays, but {len(tensorstore_specs)} tensorstore_specs"
            )
        futures: list[Any] = []

        async def run() -> None:
            await asyncio.gather(
                *[
                    async_serialize(x, spec, commit_future=futures, transaction=transaction)
                    for x, spec in zip(arrays, tensorstore_specs, strict=True)
                ]
            )

        asyncio.run(run())
        self._add_futures(futures)
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """`serialize`, each array in a folder of its own."""
        self.serialize(
            arrays,
            [get_tensorstore_spec(path) for path in paths],
            on_commit_callback=on_commit_callback,
            transaction=transaction,
        )

    def deserialize(
        self,
        shardings: Sequence[Sharding | Format],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[tuple[int, ...]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
        concurrent_gb: int = 32,
    ) -> list[ArrayImpl]:
        """Reads arrays, when what is being stored is.

        Args:
          shardings: where each is put.
          tensorstore_specs: where each is stored.
          global_shapes: of each array, if not the stored ones; what is beyond those is zero.
          dtypes: of each array, if not the stored ones.
          concurrent_gb: gigabytes that are read at once.
        """
        self.wait_until_finished()
        return run_deserialization(
            shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb
        )

    def deserialize_with_paths(
        self,
        shardings: Sequence[Sharding],
        paths: Sequence[str],
        global_shapes: Sequence[tuple[int, ...]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
        concurrent_gb: int = 32,
    ) -> list[ArrayImpl]:
        """`deserialize`, each array from a folder of its own."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)


_get_metadata = functools.partial(tensorstore_impl.metadata_of, driver="zarr")


def run_serialization(arrays: PyTree, tensorstore_specs: PyTree) -> None:
    """Writes a pytree of arrays, each as the spec in its place says; returns when all are stored."""

    async def run() -> None:
        await asyncio.gather(*_paired(async_serialize, arrays, tensorstore_specs))

    asyncio.run(run())


def run_deserialization(
    shardings: PyTree,
    tensorstore_specs: PyTree,
    global_shapes: PyTree = None,
    dtypes: PyTree = None,
    concurrent_gb: int = 32,
) -> Any:
    """Reads a pytree of arrays.

    Args:
      shardings: where each is put.
      tensorstore_specs: where each is stored.
      global_shapes: a list of shapes that arrays are to have, if not the stored ones.
      dtypes: a list of their dtypes, if not the stored ones.
      concurrent_gb: gigabytes that are read at once.

    Returns: a pytree like `shardings`.
    """
    leaves, structure = pytrees.tree_flatten(shardings)
    specs = structure.flatten_up_to(tensorstore_specs)
    n = len(leaves)
    shapes = [None] * n if global_shapes is None else structure.flatten_up_to(global_shapes)
    kinds = [None] * n if dtypes is None else structure.flatten_up_to(dtypes)

    async def run() -> list[ArrayImpl]:
        limiter = LimitInFlightBytes(concurrent_gb * 10**9)
        return await asyncio.gather(
            *[
                async_deserialize(place, spec, shape, kind, byte_limiter=limiter)
                for place, spec, shape, kind in zip(leaves, specs, shapes, kinds, strict=True)
            ]
        )

    return pytrees.tree_unflatten(structure, asyncio.run(run()))


def _paired(f: Any, tree: PyTree, specs: PyTree) -> list[Coroutine[Any, Any, Any]]:
    """Returns `f(leaf, its spec)` for the leaves of a tree of arrays or places."""
    leaves, structure = pytrees.tree_flatten(tree)
    leaf_specs = structure.flatten_up_to(specs)
    return [f(leaf, spec) for leaf, spec in zip(leaves, leaf_specs, strict=True)]
