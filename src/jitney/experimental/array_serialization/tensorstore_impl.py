"""`jax.experimental.array_serialization.tensorstore_impl`: saves and loads single arrays.

The functions are coroutines, so that many arrays can be written or read concurrently;
`serialization` runs them for programs without an event loop. Replicated data are written once.
TensorStore is imported when it is first used.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.api.parallel.placement import make_array_from_callback
from jitney.core.program.shape_dtype import ShapeDtypeStruct
from jitney.core.sharding.sharding import Sharding
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing
from jitney.experimental.array_serialization.limits import LimitInFlightBytes
from jitney.experimental.array_serialization.specs import (
    Spec,
    get_tensorstore_spec as get_tensorstore_spec,
    is_tensorstore_spec_leaf as is_tensorstore_spec_leaf,
    merge_nested_ts_specs as merge_nested_ts_specs,
    metadata_of,
    verify_tensorstore_spec as verify_tensorstore_spec,
)
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import client
from jitney.runtime.devices.sharding import Format

if TYPE_CHECKING:
    import tensorstore as ts

    from jitney.core.typing import DTypeLike

__dir__ = listing(__name__)

_Place = Sharding | Format | ShapeDtypeStruct
_T = TypeVar("_T")
_LimitInFlightBytes = LimitInFlightBytes  # the name of the class in JAX

_CACHE_BYTES = 10**10
_CONCURRENT_OPERATIONS = 128
_BLOCK_ELEMENTS = 10**8


@functools.cache
def _defaults() -> tuple[ts.Context, ts.ChunkLayout]:
    """Returns the context (caches, threads) and the chunk layout shared by all arrays."""
    import tensorstore

    limit = {"limit": _CONCURRENT_OPERATIONS}
    cache = {"total_bytes_limit": _CACHE_BYTES}
    context = tensorstore.Context(
        {
            "cache_pool": cache,
            "cache_pool#remote": cache,
            "data_copy_concurrency": limit,
            "file_io_concurrency": limit,
        }
    )
    grid = tensorstore.ChunkLayout.Grid(elements=_BLOCK_ELEMENTS)
    return context, tensorstore.ChunkLayout(read_chunk=grid, write_chunk=grid)


def __getattr__(name: str) -> Any:
    if name in ("_TS_CONTEXT", "TS_CONTEXT"):
        return _defaults()[0]
    if name == "_TS_CHUNK_LAYOUT":
        return _defaults()[1]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _open(
    spec: Spec | ts.Spec,
    context: ts.Context | None,
    chunk_layout: ts.ChunkLayout | None,
    **options: Any,
) -> ts.Future[ts.TensorStore]:
    import tensorstore

    own_context, own_layout = _defaults()
    return tensorstore.open(
        tensorstore.Spec(spec) if isinstance(spec, dict) else spec,
        context=context or own_context,
        chunk_layout=chunk_layout or own_layout,
        open=True,
        **options,
    )


# --- writing --------------------------------------------------------------------------------------


async def async_serialize(
    arr_inp: Any,
    tensorstore_spec: Spec,
    commit_future: list[Any] | None = None,
    context: ts.Context | None = None,
    chunk_layout: ts.ChunkLayout | None = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: ts.Transaction | None = None,
) -> list[None]:
    """Writes an array.

    Args:
      arr_inp: an array on one or more devices.
      tensorstore_spec: spec of the array. Missing metadata and dtype are added to it.
      commit_future: list to which futures of unfinished writes are appended, which the caller must
        wait for. If it is None, the array is written when the coroutine returns. In both cases the
        memory of the array can be reused when the coroutine returns.
      context, chunk_layout: TensorStore context and chunk layout; by default, all arrays of the
        process share them.
      primary_host: index of the process that creates the files of the array; by default, each
        process creates them.
      replica_id: index of the replica of each shard that is written.
      transaction: TensorStore transaction that the writes belong to.

    Returns: a list with None for each shard.

    Raises:
      TypeError: if `arr_inp` is not an array, or is an array of PRNG keys.
      ValueError: if an array of a different shape or dtype exists at the location; raised by
        TensorStore.
    """
    if not isinstance(arr_inp, ArrayImpl) or dtypes.is_extended(arr_inp.dtype):
        raise TypeError(
            f"array_serialization: expected a numeric jax.Array, but got {arr_inp!r} of type "
            f"{type(arr_inp).__name__}; convert NumPy arrays and scalars with jax.numpy.asarray, "
            "and keys with jax.random.key_data"
        )
    if not tensorstore_spec.get("metadata"):
        driver = tensorstore_spec.get("driver", "zarr3")
        tensorstore_spec["metadata"] = metadata_of(arr_inp, driver=driver)
    tensorstore_spec.setdefault("dtype", dtypes.long_name(arr_inp.dtype))
    own_process = client.client().process_index()
    if primary_host is None or own_process == primary_host:
        opening = _open(
            tensorstore_spec, context, chunk_layout, create=True, transaction=transaction
        )
        if commit_future is None:
            await opening
        else:
            commit_future.append(opening)
    # The metadata are taken from the spec, because the files may not have been written yet.
    store = await _open(
        tensorstore_spec, context, chunk_layout, assume_metadata=True, transaction=transaction
    )

    async def write(index: tuple[slice, ...], data: np.ndarray) -> None:
        # If the commit is awaited later, TensorStore has its own copy as soon as `copy` is done.
        futures = store[index].write(
            data, can_reference_source_data_indefinitely=commit_future is None
        )
        if commit_future is None:
            await futures.commit
        else:
            commit_future.append(futures.commit)
            await futures.copy

    async def written(shard: Any) -> None:
        if shard.replica_id == replica_id:
            await write(shard.index, np.asarray(shard.data))

    return await asyncio.gather(*[written(shard) for shard in arr_inp.addressable_shards])


def estimate_read_memory_footprint(t: ts.TensorStore, domain: ts.IndexDomain) -> int:
    """Returns the size in bytes of all chunks that intersect `domain`, which are read entirely."""
    n = t.dtype.numpy_dtype.itemsize
    blocks = t.chunk_layout.read_chunk.shape or (0,) * len(domain.shape)
    for start, extent, block in zip(domain.origin, domain.shape, blocks, strict=True):
        if block:
            n *= (-(-(start + extent) // block) - start // block) * block
        else:
            n *= extent
    return n


async def async_deserialize(
    in_type: _Place,
    tensorstore_spec: ts.Spec | Spec,
    global_shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    byte_limiter: LimitInFlightBytes | None = None,
    context: ts.Context | None = None,
    chunk_layout: ts.ChunkLayout | None = None,
    assume_metadata: bool = False,
) -> ArrayImpl:
    """Reads an array.

    Args:
      in_type: sharding of the array: a Sharding, or a Format or ShapeDtypeStruct that has one. The
        array gets the dtype of a ShapeDtypeStruct.
      tensorstore_spec: spec of the stored array.
      global_shape: shape of the array, if it differs from the stored shape; elements beyond the
        stored shape are zero.
      dtype: dtype to which the elements are converted; by default the dtype of `in_type` or, if it
        has none, the stored dtype.
      byte_limiter: limit on the memory of concurrent reads.
      context, chunk_layout: TensorStore context and chunk layout; by default, all arrays of the
        process share them.
      assume_metadata: whether to use the metadata in the spec, without reading the stored metadata.

    Raises:
      TypeError: if `in_type` has no sharding.
      ValueError: if the array does not exist; raised by TensorStore.
    """
    import tensorstore

    place: Any = in_type if isinstance(in_type, Sharding) else getattr(in_type, "sharding", None)
    if not isinstance(place, Sharding):
        raise TypeError(
            "array_serialization: expected a jax.sharding.Sharding of the array to be read, such as "
            "`x.sharding` of an array `x`, or a Format or ShapeDtypeStruct that has one, but got "
            f"{in_type!r}"
        )
    out_dtype: Any = dtype
    if isinstance(in_type, ShapeDtypeStruct) and dtype is None:
        out_dtype = in_type.dtype
    t = await _open(tensorstore_spec, context, chunk_layout, assume_metadata=assume_metadata)
    shape = tuple(t.shape if global_shape is None else global_shape)
    place.check_fits(shape)
    blocks: dict[tuple[tuple[int, int], ...], np.ndarray] = {}

    async def read(bounds: tuple[tuple[int, int], ...]) -> None:
        part = tensorstore.IndexDomain(
            inclusive_min=[a for a, _ in bounds], shape=[b - a for a, b in bounds]
        )
        stored = t.domain.intersect(part)
        n_bytes = estimate_read_memory_footprint(t, stored)
        if byte_limiter is not None:
            await byte_limiter.wait_for_bytes(n_bytes)
        try:
            data = await t[stored].read()
        finally:
            if byte_limiter is not None:
                await byte_limiter.release_bytes(n_bytes)
        if data.shape != tuple(part.shape):
            padded = np.zeros(part.shape, data.dtype)
            at = zip(stored.origin, bounds, data.shape, strict=True)
            padded[tuple([slice(o - a, o - a + n) for o, (a, _), n in at])] = data
            data = padded
        blocks[bounds] = data

    indices = place.addressable_devices_indices_map(shape).values()
    await asyncio.gather(*map(read, dict.fromkeys(_bounds(index, shape) for index in indices)))
    kind = dtypes.canonicalize_dtype(t.dtype.numpy_dtype if out_dtype is None else out_dtype)
    return make_array_from_callback(
        shape, place, lambda index: blocks[_bounds(index, shape)], dtype=kind
    )


def _bounds(index: Any, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Returns (start, stop) of each axis."""
    return tuple([s.indices(n)[:2] for s, n in zip(index, shape, strict=True)])


def combine_kvstores(
    combined_kvstore: Spec, kvstores: list[Spec], context: ts.Context | None = None
) -> None:
    """Copies all entries of `kvstores`, such as databases of several processes, to one store."""
    import tensorstore

    context = context or _defaults()[0]

    async def run() -> None:
        target = await tensorstore.KvStore.open(combined_kvstore, context=context)
        sources = await asyncio.gather(
            *[_awaited(tensorstore.KvStore.open(spec, context=context)) for spec in kvstores]
        )
        await asyncio.gather(*[_awaited(s.experimental_copy_range_to(target)) for s in sources])

    asyncio.run(run())


async def _awaited(future: ts.Future[_T]) -> _T:
    return await future
