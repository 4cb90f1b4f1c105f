"""`jax.experimental.array_serialization.serialization`: asynchronous checkpoints of arrays.

`serialize` returns as soon as the arrays are copied. A thread waits until the files are written,
and then calls a user-defined callback, which can, for example, rename the folder of a checkpoint.
Errors in the thread are raised by the next call of `check_for_errors` or `wait_until_finished`.
"""

from __future__ import annotations

import abc
import asyncio
import functools
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.pytree import pytrees
from jitney.core.settings import monitoring
from jitney.core.sharding.sharding import Sharding
from jitney.core.util.lazy import listing
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
from jitney.runtime.devices.sharding import Format

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike, PyTree
    from jitney.runtime.arrays.array import ArrayImpl

__dir__ = listing(__name__)


class BarrierTimeoutError(Exception):
    """A timeout of a process that waits for others; it exists only for libraries that catch it."""


def get_tensorstore_spec(
    ckpt_path: Any,
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr",
) -> Spec:
    """Returns the spec of an array that is stored at a path; see `specs.get_tensorstore_spec`.

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
    """The interface of managers that save arrays asynchronously, and load them."""

    @abc.abstractmethod
    def check_for_errors(self) -> None:
        """Raises the error of an earlier write, if any."""

    @abc.abstractmethod
    def wait_until_finished(self) -> None:
        """Waits until all writes are finished; raises the error of a write, if any."""

    @abc.abstractmethod
    def serialize(
        self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]
    ) -> None:
        """Starts to save arrays, and calls `on_commit_callback` once they are written."""

    @abc.abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Sharding],
        tensorstore_specs: Sequence[Spec],
        global_shapes: Sequence[tuple[int, ...]] | None = None,
        dtypes: Sequence[DTypeLike] | None = None,
    ) -> list[ArrayImpl]:
        """Loads arrays with the given shardings."""


class AsyncManager:
    """A manager of a thread that waits for writes, and then runs a callback.

    Args:
      timeout_secs: accepted for compatibility; there is no barrier between processes.
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._commit_futures: list[Any] = []
        self._thread: threading.Thread | None = None
        self._exception: BaseException | None = None

    def _add_futures(self, futures: Sequence[Any]) -> None:
        """Sets the futures that the next thread waits for."""
        self._commit_futures = list(futures)

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        """Starts the thread, which calls `on_commit_callback` when all futures are done."""
        futures, self._commit_futures = self._commit_futures, []

        def commit() -> None:
            start = time.time()
            try:
                for future in futures:
                    future.result()
                if on_commit_callback is not None:
                    on_commit_callback()
            except BaseException as error:  # raised later, in the caller's thread
                self._exception = error
                return
            monitoring.record_event_duration_secs(
                "/jax/checkpoint/write/async/thread_duration_sec", time.time() - start
            )

        self._thread = threading.Thread(target=commit, name="jitney-commit")
        self._thread.start()

    def check_for_errors(self) -> None:
        """Raises the error of an earlier write, if any. Each error is raised once."""
        error, self._exception = self._exception, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Waits until all writes are finished; raises the error of a write, if any."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.check_for_errors()


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """A manager that saves and loads sequences of arrays.

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
        """Starts to save arrays, after waiting for earlier writes to finish.

        Args:
          arrays: arrays to be saved; they can be donated or deleted once this function has
            returned.
          tensorstore_specs: spec of each array, such as `get_tensorstore_spec` returns for a path.
          on_commit_callback: function that is called in another thread once all arrays are written.
          transaction: TensorStore transaction that the writes belong to.

        Raises:
          ValueError: if the numbers of arrays and specs differ. TensorStore raises its own errors
            if a location cannot be written.
        """
        self.wait_until_finished()
        if len(arrays) != len(tensorstore_specs):
            raise ValueError(
                "serialize: arrays and tensorstore_specs must have equal lengths, but got "
                f"{len(arrays)} and {len(tensorstore_specs)}"
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
        """Calls `serialize` with specs for the given paths, one folder for each array."""
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
        """Loads arrays, after waiting for earlier writes to finish.

        Args:
          shardings: sharding of each array.
          tensorstore_specs: spec of each array.
          global_shapes: shape of each array, if it differs from the stored shape; elements beyond
            the stored shape are zero.
          dtypes: dtype of each array, if it differs from the stored dtype.
          concurrent_gb: maximum number of gigabytes that are read at the same time.
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
        """Calls `deserialize` with specs for the given paths, one folder for each array."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)


_get_metadata = functools.partial(tensorstore_impl.metadata_of, driver="zarr")


def run_serialization(arrays: PyTree, tensorstore_specs: PyTree) -> None:
    """Saves a pytree of arrays as a pytree of specs describes; waits until all are written."""

    async def run() -> None:
        await asyncio.gather(*_paired(async_serialize, arrays, tensorstore_specs))

    asyncio.run(run())


def run_deserialization(
    shardings: PyTree,
    tensorstore_specs: PyTree,
    global_shapes: PyTree = None,
    dtypes: PyTree = None,
    concurrent_gb: int = 32,
) -> list[ArrayImpl]:
    """Loads a pytree of arrays.

    Args:
      shardings: a pytree of the shardings of the arrays.
      tensorstore_specs: a pytree of the specs of the arrays.
      global_shapes: a list of the shapes of the arrays, if they differ from the stored shapes.
      dtypes: a list of the dtypes of the arrays, if they differ from the stored dtypes.
      concurrent_gb: maximum number of gigabytes that are read at the same time.

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


def _paired(f: Any, tree: PyTree, specs: PyTree) -> list[Coroutine[object, object, object]]:
    """Returns `f(leaf, spec)` for each leaf of `tree` and its spec."""
    leaves, structure = pytrees.tree_flatten(tree)
    leaf_specs = structure.flatten_up_to(specs)
    return [f(leaf, spec) for leaf, spec in zip(leaves, leaf_specs, strict=True)]
