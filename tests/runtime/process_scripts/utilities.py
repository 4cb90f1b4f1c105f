"""What processes tell each other by `multihost_utils`, and arrays that are made of what they have.

Run by `mpiexec -n N`; prints "ok" from process 0.
"""

import numpy as np

import jitney as jax
from jitney.experimental import multihost_utils as utils
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P

jax.distributed.initialize()
SIZE, RANK, N = jax.process_count(), jax.process_index(), jax.device_count()
mesh = jax.make_mesh((N,), ("x",), axis_types=(AxisType.Auto,))
rows = NamedSharding(mesh, P("x"))
A = np.arange(16 * N, dtype=np.float32).reshape(4 * N, 4)


def raises(kind, text, f, *args, **options):
    try:
        f(*args, **options)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{f} did not raise {kind}")


def gathering():
    own = {"x": np.array([RANK, 7]), "y": 1.5 * RANK}
    found = utils.process_allgather(own)
    np.testing.assert_array_equal(found["x"], [[k, 7] for k in range(SIZE)])
    np.testing.assert_array_equal(found["y"], [1.5 * k for k in range(SIZE)])
    tiled = utils.process_allgather(own, tiled=True)
    np.testing.assert_array_equal(tiled["x"], [v for k in range(SIZE) for v in (k, 7)])
    whole = utils.process_allgather(jax.device_put(A, rows), tiled=True)
    np.testing.assert_array_equal(whole, A)
    for wide in (np.arange(2), np.arange(2.0), 0.1):  # as JAX's own dtypes
        assert utils.process_allgather(wide).dtype.itemsize == 4
    raises(ValueError, "tiled=True", utils.process_allgather, jax.device_put(A, rows))
    raises(RuntimeError, "process_allgather", utils.process_allgather, np.zeros(1 + (RANK > 0)))


def sending():
    found = utils.broadcast_one_to_all({"a": np.arange(3) + RANK})
    np.testing.assert_array_equal(found["a"], [0, 1, 2])
    last = utils.broadcast_one_to_all(np.float32(RANK), is_source=RANK == SIZE - 1)
    assert last == SIZE - 1
    raises(ValueError, "one process", utils.broadcast_one_to_all, 1, is_source=True)


def meeting():
    utils.sync_global_devices("here")
    raises(AssertionError, "must pass the same name", utils.sync_global_devices, f"place {RANK}")
    utils.assert_equal({"seed": 3, "rate": 0.1})
    with utils.live_devices(jax.devices()) as live:
        assert live == jax.devices()
    raises(AssertionError, "seeds", utils.assert_equal, RANK, "seeds")


def arrays():
    own = A[RANK * len(A) // SIZE : (RANK + 1) * len(A) // SIZE]
    x = utils.host_local_array_to_global_array(own, mesh, P("x"))
    assert x.shape == A.shape
    np.testing.assert_array_equal(utils.process_allgather(x * 2, tiled=True), A * 2)
    back = utils.global_array_to_host_local_array(x, mesh, P("x"))
    assert back.is_fully_addressable
    np.testing.assert_array_equal(np.asarray(back), own)
    y = jax.make_array_from_process_local_data(rows, own)
    np.testing.assert_array_equal(utils.process_allgather(y, tiled=True), A)
    z = jax.make_array_from_callback(A.shape, rows, lambda index: A[index])
    assert len(z.addressable_shards) == jax.local_device_count()
    for shard in z.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), A[shard.index])
    np.testing.assert_array_equal(utils.process_allgather(z, tiled=True), A)
    if SIZE > 1:
        raises(RuntimeError, "process_allgather", np.asarray, z)


def moving():
    devices = np.array(jax.devices(), object)
    places = [P(), P("x"), P(None, "x"), P("x", None)]
    meshes = [mesh, jax.sharding.Mesh(devices[::-1], ("x",))]
    if SIZE > 2:  # on some of the processes only
        n = jax.local_device_count()
        meshes += [
            jax.sharding.Mesh(devices[: 2 * n], ("x",)),
            jax.sharding.Mesh(devices[n:], ("x",)),
        ]
    side = int(np.lcm.reduce([m.size for m in meshes]))
    wide = np.arange(2 * side * side, dtype=np.float32).reshape(2 * side, side)
    every = [NamedSharding(m, spec) for m in meshes for spec in places]
    for source in every:
        x = jax.make_array_from_callback(wide.shape, source, lambda index: wide[index], np.float32)
        for target in every:
            for shard in jax.device_put(x, target).addressable_shards:
                np.testing.assert_array_equal(np.asarray(shard.data), wide[shard.index])
    scalar = jax.device_put(3.0, NamedSharding(mesh, P()))
    assert float(scalar) == 3.0
    raises(RuntimeError, "differs", jax.device_put, np.arange(3) + RANK, NamedSharding(mesh, P()))


for check in (gathering, sending, meeting, arrays, moving):
    check()
if RANK == 0:
    print("ok")
