"""Specs of TensorStore: places, chunks, combination and checks; TensorStore is not needed."""

import math

import numpy as np
import pytest

from jitney.experimental.array_serialization.specs import (
    block_shape,
    get_tensorstore_spec,
    is_remote_storage,
    is_tensorstore_spec_leaf,
    merge_nested_ts_specs,
    metadata_of,
    prime_factors,
    verify_tensorstore_spec,
)


def test_paths_are_folders_or_addresses_and_may_share_a_database():
    alone = get_tensorstore_spec("gs://bucket/a/b", ocdbt=False)
    assert alone["kvstore"] == {"driver": "gcs", "bucket": "bucket", "path": "a/b"}
    shared = get_tensorstore_spec("/a/b/x", process_idx=3, driver="zarr")
    base = {"driver": "file", "path": "/a/b/process_3"}
    assert shared["kvstore"] == {"driver": "ocdbt", "base": base, "path": "x"}
    assert is_remote_storage(alone) and not is_remote_storage(shared)
    assert is_remote_storage("s3://b/x") and is_remote_storage({"base": {"driver": "s3"}})


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a/b", "the path must be absolute"),
        ("gs://bucket/x", "must have a bucket, a folder and a name"),
        ("s3://bucket", "must have a bucket and a path"),
    ],
)
def test_databases_need_a_folder(path, message):
    with pytest.raises(ValueError, match=message):
        get_tensorstore_spec(path)


@pytest.mark.parametrize("n", [1, 2, 12, 49, 97, 210, 1024, 2 * 9973])
def test_prime_factors_multiply_to_the_number(n):
    factors = list(prime_factors(n))
    assert math.prod(factors) == n and factors == sorted(factors)
    assert all(f % d for f in factors for d in range(2, math.isqrt(f) + 1))


@pytest.mark.parametrize("shape", [(16, 16), (30, 7), (7, 13), (1, 0, 64), ()])
def test_chunks_divide_arrays_and_come_near_the_target(shape):
    block = block_shape(shape, "float32", 256)
    assert all(max(1, n) % b == 0 for n, b in zip(shape, block, strict=True))
    kept = [max([1, *prime_factors(max(1, n))]) for n in shape]
    assert math.prod(block) * 4 <= 1.1 * 256 or block == kept


def test_formats_have_metadata_of_their_own():
    x = np.zeros((4, 6), np.int16)
    assert metadata_of(x, driver="zarr")["chunks"] == [4, 6]
    local, remote = metadata_of(x), metadata_of(x, is_remote=True)
    assert local["data_type"] == "int16" and local["codecs"] == [] and remote["codecs"]
    with pytest.raises(ValueError, match="but got 'n5'"):
        metadata_of(x, driver="n5")


def test_specs_are_merged_with_their_stores():
    merged = merge_nested_ts_specs({"a": 1, "kvstore": {"b": 2, "c": 3}}, {"kvstore": {"c": 4}})
    assert merged == {"a": 1, "kvstore": {"b": 2, "c": 4}}
    assert merge_nested_ts_specs({"a": 1}, None) == {"a": 1}
    assert is_tensorstore_spec_leaf(None) and is_tensorstore_spec_leaf({"kvstore": 1})
    assert not is_tensorstore_spec_leaf({"x": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kvstore": {"driver": "file", "path": "/a/x"}}, "must be ocdbt"),
        ({"metadata": None}, "has no metadata"),
        (
            {"metadata": {"shape": (6, 4)}},
            r"has the shape \(6, 4\), but the array has the shape \(4, 6\)",
        ),
        ({"metadata": {"shape": (4, 6), "data_type": "int8"}}, "has the dtype int8"),
        ({"path": "/b"}, "is not in the folder /b"),
    ],
)
def test_specs_describe_the_array_in_its_folder(change, message):
    x = np.zeros((4, 6), np.int16)
    spec = get_tensorstore_spec("/a/x", arr=x)
    verify_tensorstore_spec(spec, x, "/a/", ocdbt=True)
    path = change.pop("path", "/a")
    with pytest.raises(ValueError, match=message):
        verify_tensorstore_spec(spec | change, x, path, ocdbt=True)
