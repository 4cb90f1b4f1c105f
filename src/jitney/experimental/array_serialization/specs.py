"""TensorStore specs: where an array is stored, in which format and with which chunks.

A spec is a dict; its fields are defined in the documentation of TensorStore. `driver` is the
format, `kvstore` the location, and `metadata` the shape and the chunks. This module does not
require TensorStore.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.core.types import dtypes

Spec: TypeAlias = dict[str, Any]

FILE_SIZE_TARGET = 2 * 1024**3  # bytes of a chunk; each chunk is one file
_SLACK = 1.1  # chunks may exceed the target by a tenth
_PROCESS_FOLDER = "process_{}"

# Prefix of cloud storage addresses -> TensorStore driver.
_CLOUDS = {"gs": "gcs", "s3": "s3"}
_CLOUD_ADDRESS = re.compile(r"(gs|s3):/{1,2}([^/]*)/(.*)", re.DOTALL)


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr3",
) -> Spec:
    """Returns the spec of an array that is stored at a path.

    Args:
      ckpt_path: location of the array: a folder, or an address that begins with gs:// or s3://.
      ocdbt: whether the arrays in a folder share an OCDBT database, which is stored in the parent
        folder of `ckpt_path`.
      process_idx: index of the process, if each process writes its part of the array to a separate
        folder.
      arr: the array, if the spec is to contain its shape, dtype and chunks.
      driver: format: "zarr" or "zarr3".

    Raises:
      ValueError: if `ocdbt` is True, and the path is not absolute or does not contain a folder for
        the database; or if the format is unknown.

    Example:
      >>> get_tensorstore_spec("/tmp/state/weights", ocdbt=False)
      {'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': '/tmp/state/weights'}}
    """
    # `normpath` removes one of the slashes of an address; _CLOUD_ADDRESS allows for that.
    path = os.path.normpath(os.fspath(ckpt_path))
    if _is_cloud(path):
        _cloud_store(path)  # raises for addresses without a path
    if process_idx is not None:
        folder, name = os.path.split(path)
        path = os.path.join(folder, _PROCESS_FOLDER.format(process_idx), name)
    cloud = _CLOUD_ADDRESS.fullmatch(path)
    if not ocdbt:
        store = _cloud_store(path) if _is_cloud(path) else {"driver": "file", "path": path}
    else:
        folder, name = os.path.split(path)
        if _is_cloud(path):
            if cloud is None or "/" not in cloud[3].strip("/"):
                raise ValueError(
                    "get_tensorstore_spec: with ocdbt=True, an address in cloud storage must have a "
                    "bucket, a folder and a name, as in gs://bucket/folder/array, but got "
                    f"{os.fspath(ckpt_path)}; pass ocdbt=False to store arrays without a database"
                )
            base = _cloud_store(folder)
        else:
            if not os.path.isabs(folder):
                raise ValueError(
                    "get_tensorstore_spec: with ocdbt=True, the path must be absolute, but got "
                    f"{folder!r}; use os.path.abspath"
                )
            base = {"driver": "file", "path": folder}
        store = {"driver": "ocdbt", "base": base, "path": name}
    spec: Spec = {"driver": driver, "kvstore": store}
    if arr is not None:
        spec["metadata"] = metadata_of(arr, is_remote=_is_cloud(path), driver=driver)
    return spec


def _is_cloud(path: str) -> bool:
    return path.startswith(tuple(f"{prefix}:/" for prefix in _CLOUDS))


def _cloud_store(path: str) -> Spec:
    address = _CLOUD_ADDRESS.fullmatch(path)
    if address is None:
        raise ValueError(
            "get_tensorstore_spec: an address in cloud storage must have a bucket and a path, as in "
            f"gs://bucket/folder/array, but got {path}"
        )
    return {"driver": _CLOUDS[address[1]], "bucket": address[2], "path": address[3]}


def is_remote_storage(tspec: Spec | str) -> bool:
    """Returns whether a path or a spec refers to cloud storage.

    Example:
      >>> is_remote_storage("gs://bucket/weights")
      True
    """
    if isinstance(tspec, str):
        return tspec.startswith(tuple(f"{prefix}://" for prefix in _CLOUDS))
    if "kvstore" in tspec:
        return is_remote_storage(tspec["kvstore"])
    if "base" in tspec:
        return is_remote_storage(tspec["base"])
    return tspec.get("driver") in _CLOUDS.values()


# --- shapes and chunks ----------------------------------------------------------------------------


def metadata_of(
    arr: Any,
    is_remote: bool = False,
    file_size_target: int = FILE_SIZE_TARGET,
    driver: str = "zarr3",
) -> Spec:
    """Returns the metadata of a spec: shape, dtype and chunks. No chunk crosses shard boundaries.

    Args:
      arr: an array.
      is_remote: whether the array is in cloud storage, where "zarr3" compresses chunks.
      file_size_target: maximum size of a chunk in bytes, which may be exceeded by 10%.
      driver: "zarr" or "zarr3".

    Raises:
      ValueError: if the format is unknown.
    """
    shape: tuple[int, ...] = tuple(arr.shape)
    place = getattr(arr, "sharding", None)
    local = shape if place is None else tuple(place.shard_shape(shape))
    dtype = np.dtype(arr.dtype)
    blocks = block_shape(local, dtype, file_size_target)
    if driver == "zarr":
        return {"compressor": {"id": "zstd"}, "shape": shape, "chunks": blocks}
    if driver == "zarr3":
        return {
            "codecs": [{"name": "zstd"}] if is_remote else [],
            "shape": shape,
            "data_type": dtypes.long_name(dtype),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": blocks}},
        }
    raise ValueError(
        f'array_serialization: the format must be "zarr" or "zarr3", but got {driver!r}'
    )


def block_shape(
    shape: Sequence[int], dtype: str | np.dtype, file_size_target: int = FILE_SIZE_TARGET
) -> list[int]:
    """Returns a chunk shape of about `file_size_target` bytes that divides `shape` evenly.

    Sizes are divided by their prime factors, always by the smallest remaining factor of any axis,
    but never by the largest factor of an axis. Therefore an array whose sizes are all prime is
    stored as a single chunk.

    Example:
      >>> block_shape((16, 16), "float32", 256)
      [4, 16]
    """
    block = [max(1, n) for n in shape]
    factors = [list(prime_factors(n))[:-1] for n in block]
    most = file_size_target * _SLACK
    while math.prod(block) * np.dtype(dtype).itemsize > most and any(factors):
        axis = min((i for i, f in enumerate(factors) if f), key=lambda i: factors[i][0])
        block[axis] //= factors[axis].pop(0)
    return block


def prime_factors(n: int) -> Iterator[int]:
    """Yields the prime factors of `n` with multiplicity, smallest first."""
    for factor in itertools.count(2):
        if factor * factor > n:
            break
        while n % factor == 0:
            yield factor
            n //= factor
    if n > 1:
        yield n


# --- combining and checking -----------------------------------------------------------------------


def is_tensorstore_spec_leaf(leaf: Any) -> bool:
    """Returns whether a node of a pytree is a spec, or None in place of a missing spec."""
    return leaf is None or (isinstance(leaf, dict) and ("driver" in leaf or "kvstore" in leaf))


def merge_nested_ts_specs(dict1: dict[Any, Any], dict2: dict[Any, Any] | None) -> Spec:
    """Returns a spec updated by another spec; None leaves it unchanged.

    The entries of `kvstore` are merged in the same way.

    Example:
      >>> merge_nested_ts_specs({"kvstore": {"driver": "file"}}, {"kvstore": {"path": "/x"}})
      {'kvstore': {'driver': 'file', 'path': '/x'}}
    """
    if dict2 is None:
        return dict1
    return {**dict1, **dict2, "kvstore": {**dict1.get("kvstore", {}), **dict2.get("kvstore", {})}}


def verify_tensorstore_spec(
    spec: Spec,
    arr: Any,
    path: str | os.PathLike[str],
    ocdbt: bool,
    check_metadata: bool = True,
) -> None:
    """Checks that a spec describes a given array in a given folder.

    Args:
      spec: the spec.
      arr: the array; can be None if `check_metadata` is False.
      path: folder of the array, or, if `ocdbt` is True, of the database.
      ocdbt: whether the array is in a database.
      check_metadata: whether to compare the shape in the spec with that of the array, and the dtype
        if the spec contains one.

    Raises:
      ValueError: if the spec does not match; the message states the difference.
    """
    store = spec.get("kvstore", {})
    if ocdbt and store.get("driver") != "ocdbt":
        raise ValueError(
            "verify_tensorstore_spec: the driver of the location of an array in a database must be "
            f"ocdbt, but got {spec=}"
        )
    if check_metadata:
        metadata = spec.get("metadata")
        if arr is None:
            raise ValueError(
                "verify_tensorstore_spec: an array is required to check metadata, but arr is None; "
                "pass an array, or check_metadata=False"
            )
        if metadata is None:
            raise ValueError(f"verify_tensorstore_spec: {spec=} has no metadata")
        if tuple(metadata.get("shape", ())) != tuple(arr.shape):
            raise ValueError(
                "verify_tensorstore_spec: the spec has the shape "
                f"{tuple(metadata.get('shape', ()))}, but the array has the shape {tuple(arr.shape)}"
            )
        stored = metadata.get("data_type")
        if stored is not None and stored != dtypes.long_name(arr.dtype):
            raise ValueError(
                f"verify_tensorstore_spec: the spec has the dtype {stored}, but the array has the "
                f"dtype {dtypes.long_name(arr.dtype)}"
            )
    place = store.get("base", {}) if ocdbt else store
    stored_path = place if isinstance(place, str) else place.get("path", "")
    address = _CLOUD_ADDRESS.fullmatch(os.path.normpath(os.fspath(path)))
    folder = address[3] if address else os.path.normpath(os.fspath(path))
    if os.path.normpath(stored_path.removeprefix("file://")) != folder:
        raise ValueError(
            f"verify_tensorstore_spec: the location in the spec, {store}, is not in the folder {path}"
        )
