"""Arrays are assembled from the shards of devices, of which each must be the right one."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.arrays import terms
from jitney.runtime.arrays.assembly import assembled, of_devices
from jitney.runtime.devices.client import Client

DEVICES = Client("cpu", 0, (4,), 1).devices()
MESH = Mesh(np.array(DEVICES).reshape(2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def put(x, device):
    return jax.device_put(np.asarray(x), device)


@pytest.mark.parametrize("spec", [P("x", "y"), P("y"), P(None, ("y", "x")), P()])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
def test_shards_are_put_where_they_belong(spec, dtype):
    whole = np.arange(32).reshape(4, 8).astype(jax.numpy.dtype(dtype))
    place = NamedSharding(MESH, spec)
    shards = [put(whole[i], d) for d, i in place.devices_indices_map(whole.shape).items()]
    out = of_devices("f", whole.shape, place, shards[::-1], None)
    np.testing.assert_array_equal(out, whole)
    assert out.dtype == whole.dtype and out.sharding == place


def test_the_shards_of_an_unreduced_array_are_added():
    place = NamedSharding(MESH, P("x", unreduced={"y"}))
    parts = [np.float32([1]), np.float32([10]), np.float32([2]), np.float32([20])]
    out = assembled("f", (2,), place, parts, None)
    np.testing.assert_array_equal(out._value, [11, 22])
    np.testing.assert_array_equal(terms.of_array(out), [[1, 2], [10, 20]])


def test_dtypes_of_shards():
    place = NamedSharding(MESH, P("x"))
    parts = [np.arange(2), np.arange(2)] * 2
    assert assembled("f", (4,), place, parts, None).dtype == np.int32
    assert assembled("f", (4,), place, parts, np.float32).dtype == np.float32


@pytest.mark.parametrize(
    "shards, dtype, error, message",
    [
        (lambda: [np.ones(2)] * 4, None, TypeError, "f: expected arrays"),
        (lambda: [put(1, DEVICES[0])], None, ValueError, "has 4 devices of this process"),
        (list, None, ValueError, "pass `dtype`"),
        (lambda: [put(np.ones(2), DEVICES[0])] * 4, None, ValueError, "the shards are on"),
        (lambda: [put(np.ones(k), DEVICES[k]) for k in range(4)], None, ValueError, "must have shape"),
        (
            lambda: [put(np.ones(2, "f" if k else "i"), DEVICES[k]) for k in range(4)],
            None, ValueError, "must have the same dtype",
        ),
        (
            lambda: [put(np.ones(2, "f"), DEVICES[k]) for k in range(4)],
            np.int32, ValueError, "must have the dtype `dtype`",
        ),
    ],
)  # fmt: skip
def test_wrong_shards(shards, dtype, error, message):
    with pytest.raises(error, match=message):
        of_devices("f", (4,), NamedSharding(MESH, P("x")), shards(), dtype)
