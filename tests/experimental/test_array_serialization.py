"""`jax.experimental.array_serialization`; orbax on it is a program of tests/libraries.

Specs are compared with real jax where tensorstore is installed, which real jax cannot be asked without.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.experimental.array_serialization import serialization, specs, tensorstore_impl
from jitney.sharding import SingleDeviceSharding


def oracle(name):
    pytest.importorskip("jax", reason="real JAX is not installed")
    pytest.importorskip("tensorstore", reason="real jax asks tensorstore for everything")
    return importlib.import_module(f"jax.experimental.array_serialization.{name}")


def outcome(f, *args, **kwargs):
    try:
        return json.dumps(f(*args, **kwargs))
    except ValueError:
        return "ValueError"


def test_a_spec_says_where_and_how():
    x = jnp.zeros((6, 10), jnp.bfloat16)
    assert tensorstore_impl.get_tensorstore_spec("/a/b/x", arr=x) == {
        "driver": "zarr3",
        "kvstore": {"driver": "ocdbt", "base": {"driver": "file", "path": "/a/b"}, "path": "x"},
        "metadata": {
            "codecs": [],
            "shape": (6, 10),
            "data_type": "bfloat16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6, 10]}},
        },
    }
    assert serialization.get_tensorstore_spec("/a/b/x", arr=x) == {
        "driver": "zarr",
        "kvstore": {"driver": "file", "path": "/a/b/x"},
        "metadata": {"compressor": {"id": "zstd"}, "shape": (6, 10), "chunks": [6, 10]},
    }


PATHS = [
    "/a/b", "/a/b/", "/a/../b/c", "gs://bucket/x/y", "s3://bucket/x/y", "gs:/bucket/x//y",
    "gs://bucket/x", "relative/x", "file:///a/x", "memory://x/y",
]  # fmt: skip


def test_a_bucket_is_no_array():
    for words in ({}, {"ocdbt": False}, {"process_idx": 2, "ocdbt": False}):
        with pytest.raises(ValueError, match="gs://bucket/folder/array"):
            specs.get_tensorstore_spec("gs://bucket", **words)


@pytest.mark.parametrize("path", PATHS)
def test_specs_of_paths(path):
    for module in ("serialization", "tensorstore_impl"):
        own = importlib.import_module(f"jitney.experimental.array_serialization.{module}")
        for ocdbt, process, driver in itertools.product([True, False], [None, 2], ["zarr", "n5"]):
            words = {"ocdbt": ocdbt, "process_idx": process, "driver": driver}
            for shape in [None, (0, 3), (), (4, 5)]:
                args = [
                    {**words, **({} if shape is None else {"arr": np.zeros(shape)})}
                    for _ in range(2)
                ]
                got = outcome(own.get_tensorstore_spec, path, **args[0])
                assert got == outcome(oracle(module).get_tensorstore_spec, path, **args[1]), words


def test_blocks_divide_arrays():
    assert specs.block_shape((16, 16), "float32", 256) == [4, 16]
    assert specs.block_shape((7, 5), "float32", 4) == [7, 5]
    assert specs.block_shape((0, 3), "int8") == [1, 3]
    assert list(specs.prime_factors(360)) == [2, 2, 2, 3, 3, 5]
    theirs = oracle("tensorstore_impl")._compute_chunk_shape
    for shape in [(8, 8), (100,), (9, 27), (15, 25), (30, 30), (5, 7, 16), (97, 12), (16, 16, 16)]:
        for target in range(1, 4 * int(np.prod(shape)) + 40, 37):
            got = specs.block_shape(shape, "float32", target)
            assert got == list(theirs(shape, np.dtype("float32"), target)), (shape, target)


def test_combining_and_checking_specs():
    merge = specs.merge_nested_ts_specs
    one = {"driver": "zarr", "a": {"b": 1}, "kvstore": {"driver": "file", "path": "/x"}}
    two = {"a": {"c": 2}, "kvstore": {"path": "/y"}}
    assert merge(one, None) is one
    assert merge(one, two) == {**one, **two, "kvstore": {"driver": "file", "path": "/y"}}
    assert merge(one, two) == oracle("tensorstore_impl").merge_nested_ts_specs(one, two)
    for leaf in [None, one, {"a": 1}, {"kvstore": {}}, 3]:
        assert specs.is_tensorstore_spec_leaf(leaf) == (leaf in (None, one, {"kvstore": {}}))
    for place, remote in [
        ("gs://a", True),
        ("/a", False),
        ({"driver": "zarr", "kvstore": {"driver": "gcs"}}, True),
        ({"kvstore": {"driver": "ocdbt", "base": "s3://x"}}, True),
        ({"kvstore": {"driver": "file"}}, False),
    ]:
        assert specs.is_remote_storage(place) == remote
        assert oracle("serialization").is_remote_storage(place) == remote


def test_verifying_specs():
    x = jnp.zeros((6, 10))
    spec = specs.get_tensorstore_spec("/a/b/x", arr=x)
    specs.verify_tensorstore_spec(spec, x, "/a/b", ocdbt=True)
    specs.verify_tensorstore_spec(spec, None, "/a/b", ocdbt=True, check_metadata=False)
    alone = specs.get_tensorstore_spec("/a/b/x", ocdbt=False, arr=x)
    specs.verify_tensorstore_spec(alone, x, "/a/b/x", ocdbt=False)
    for args, message in [
        ((spec, x, "/a/c", True), "not in the folder /a/c"),
        ((alone, x, "/a/b", True), "must be ocdbt"),
        ((spec, x[0], "/a/b", True), r"shape \(6, 10\), but the array has the shape \(10,\)"),
        ((spec, x.astype(int), "/a/b", True), "dtype float32, but the array has the dtype int32"),
        ((spec, None, "/a/b", True), "an array is required to check metadata"),
    ]:
        with pytest.raises(ValueError, match=message):
            specs.verify_tensorstore_spec(*args)


# --- arrays ---------------------------------------------------------------------------------------

KINDS = "bool int4 uint8 int32 float8_e4m3fn bfloat16 float16 float32 complex64".split()


@pytest.fixture
def manager():
    pytest.importorskip("tensorstore", reason="what stores arrays")
    return serialization.GlobalAsyncCheckpointManager()


@pytest.fixture
def place():
    return SingleDeviceSharding(jitney.devices()[0])


def test_arrays_come_back(manager, place, tmp_path):
    arrays = [jnp.asarray([[0, 1, 2], [3, 4, 5]]).astype(kind) for kind in KINDS]
    arrays += [jnp.asarray(2.5), jnp.zeros((0, 3)), jnp.arange(1000.0)[::-1]]
    paths = [str(tmp_path / f"{i}") for i in range(len(arrays))]
    done = []
    manager.serialize_with_paths(arrays, paths, on_commit_callback=lambda: done.append(1))
    manager.wait_until_finished()
    assert done == [1]
    found = manager.deserialize_with_paths([place] * len(arrays), paths)
    for before, after in zip(arrays, found, strict=True):
        assert after.dtype == before.dtype
        assert after.sharding == place
        np.testing.assert_array_equal(np.asarray(after), np.asarray(before))


@pytest.mark.live
def test_real_jax_reads_what_is_written_and_the_reverse(manager, place, tmp_path):
    import jax

    theirs = oracle("serialization").GlobalAsyncCheckpointManager()
    values = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    manager.serialize_with_paths([jnp.asarray(values)], [str(tmp_path / "own")])
    theirs.serialize_with_paths(
        [jax.numpy.asarray(values)], [str(tmp_path / "jax")], on_commit_callback=lambda: None
    )
    manager.wait_until_finished()
    theirs.wait_until_finished()
    files = [sorted(p.name for p in (tmp_path / x).iterdir()) for x in ("own", "jax")]
    assert files[0] == files[1]
    for name in files[0]:
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "jax" / name).read_bytes()
    [x] = manager.deserialize_with_paths([place], [str(tmp_path / "jax")])
    there = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    [y] = theirs.deserialize_with_paths([there], [str(tmp_path / "own")])
    np.testing.assert_array_equal(x, values)
    np.testing.assert_array_equal(y, values)


def test_other_shapes_and_dtypes(manager, place, tmp_path):
    path = str(tmp_path / "x")
    manager.serialize_with_paths([jnp.arange(6).reshape(2, 3)], [path])
    read = manager.deserialize_with_paths
    [x] = read([place], [path], global_shapes=[(3, 2)], dtypes=[jnp.float32])
    assert x.tolist() == [[0.0, 1.0], [3.0, 4.0], [0.0, 0.0]]
    spec = serialization.get_tensorstore_spec(path)
    wanted = jitney.ShapeDtypeStruct((2, 3), jnp.bfloat16, sharding=place)
    y = asyncio.run(serialization.async_deserialize(wanted, spec))
    assert y.dtype == jnp.bfloat16


def test_an_array_may_change_as_soon_as_it_is_given(manager, place, tmp_path):
    x = jnp.arange(100_000.0)
    manager.serialize_with_paths([x], [str(tmp_path / "x")])
    jitney.jit(lambda x: x * 0, donate_argnums=0)(x)
    [y] = manager.deserialize_with_paths([place], [str(tmp_path / "x")])
    np.testing.assert_array_equal(y, np.arange(100_000.0))


def test_databases_of_processes_are_combined(manager, place, tmp_path):
    spec = tensorstore_impl.get_tensorstore_spec
    path = tmp_path / "state" / "x"
    x = jnp.arange(4.0)
    serialization.run_serialization([x], [spec(path, process_idx=3)])
    part = spec(path, process_idx=3)["kvstore"]["base"]
    tensorstore_impl.combine_kvstores(
        {"driver": "ocdbt", "base": {"driver": "file", "path": str(path.parent)}},
        [{"driver": "ocdbt", "base": part}],
    )
    [y] = serialization.run_deserialization([place], [spec(path)])
    assert y.tolist() == x.tolist()


def test_few_bytes_at_once(place):
    limiter, order = tensorstore_impl.LimitInFlightBytes(100), []

    async def read(name, n):
        await limiter.wait_for_bytes(n)
        order.append(name)
        await asyncio.sleep(0)
        await limiter.release_bytes(n)
        order.append(f"{name} ends")

    async def run():
        await asyncio.gather(read("a", 60), read("b", 60), read("large", 500))

    asyncio.run(run())
    assert order == ["a", "a ends", "b", "b ends", "large", "large ends"]


def test_what_fails_is_raised_by_the_next_call(manager, place, tmp_path):
    def fails():
        raise RuntimeError("disk full")

    manager.serialize_with_paths([jnp.ones(3)], [str(tmp_path / "x")], on_commit_callback=fails)
    with pytest.raises(RuntimeError, match="disk full"):
        manager.wait_until_finished()
    manager.check_for_errors()
    manager.serialize_with_paths([jnp.ones(4)], [str(tmp_path / "x")])
    with pytest.raises(ValueError, match=r"Expected \"shape\" of \[4\]"):
        manager.wait_until_finished()
    with pytest.raises(ValueError, match="NOT_FOUND"):
        manager.deserialize_with_paths([place], [str(tmp_path / "nothing")])


def test_refusals(manager, tmp_path):
    path = str(tmp_path / "x")
    for value in (np.ones(3), 1.0, jitney.random.key(0)):
        with pytest.raises(TypeError, match=r"expected a numeric jax\.Array"):
            manager.serialize_with_paths([value], [path])
    with pytest.raises(ValueError, match="must have equal lengths, but got 2 and 1"):
        manager.serialize([jnp.ones(3)] * 2, [serialization.get_tensorstore_spec(path)])
    with pytest.raises(TypeError, match=r"expected a jax.sharding.Sharding .* but got P\('a',\)"):
        manager.deserialize_with_paths([jitney.sharding.PartitionSpec("a")], [path])
