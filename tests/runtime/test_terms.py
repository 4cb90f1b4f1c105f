"""Terms of unreduced arrays live as long as their sum, and divide an array among devices."""

import gc

import numpy as np
import pytest

from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.arrays import terms
from jitney.runtime.arrays.array import array_of
from jitney.runtime.devices.client import Client

AXES = AbstractMesh((2, 3), ("x", "y"))
DEVICES = np.array(Client("cpu", 0, (6,), 1).devices()).reshape(2, 3)
MESH = Mesh(DEVICES, ("x", "y"), (AxisType.Explicit,) * 2)


def test_names_are_in_the_order_of_the_mesh():
    place = NamedSharding(AXES, P(unreduced={"y", "x"}))
    assert terms.names_of_terms(place) == ("x", "y")
    assert terms.names_of_terms(NamedSharding(AXES, P("x"))) == terms.names_of_terms(None) == ()
    of_terms = terms.place_of_terms(NamedSharding(AXES, P(None, "x", unreduced={"y"})))
    assert of_terms.spec == P("y", None, "x")


def test_each_device_has_a_position_among_the_terms():
    assert terms.positions(NamedSharding(AXES, P(unreduced={"y"}))) == [(0,), (1,), (2,)] * 2
    both = NamedSharding(AXES, P(unreduced={"x", "y"}))
    assert terms.positions(both) == list(np.ndindex(2, 3))


def test_terms_are_forgotten_with_their_sum():
    x, before = array_of(np.float32([3, 4])), len(terms._of)
    parts = np.float32([[1, 2], [2, 2]])
    terms.attach(x, parts)
    assert terms.of_array(x) is parts and terms.of_array(x + 0) is None
    del x
    gc.collect()
    assert len(terms._of) == before


@pytest.mark.parametrize(
    "entries",
    [
        [("x",), ()],
        [("y", "x"), ()],
        [("x", "y"), ()],
        [("y",), ("x",)],
        [(), ()],
        [("z", "x"), ()],
    ],
)
def test_each_element_is_kept_by_one_device(entries):
    mesh = AbstractMesh((2, 3, 2), ("x", "y", "z"))
    masks = terms.owners(("x", "y"), mesh, entries, (12, 4))
    owned = np.broadcast_to(masks[0] & masks[1], (2, 3, 12, 4))
    assert (owned.sum((0, 1)) == 1).all()


def test_axes_are_cut_in_the_order_of_the_spec():
    (mask,) = terms.owners(("y",), AXES, [("y",)], (6,))
    np.testing.assert_array_equal(mask, np.repeat(np.eye(3, dtype=bool), 2, axis=1))
    (whole,) = terms.owners(("x",), AXES, [()], (6,))
    np.testing.assert_array_equal(whole, [[True], [False]])


def test_spreading_an_array_keeps_its_sum():
    data = np.arange(12, dtype=np.int32)
    to = NamedSharding(MESH, P(unreduced={"x", "y"}))
    out = terms.spread(data, NamedSharding(MESH, P(("x", "y"))), to)
    assert out.shape == (2, 3, 12) and (out != 0).sum() == 11
    np.testing.assert_array_equal(out.sum((0, 1)), data)
    np.testing.assert_array_equal(out[1, 0], [0] * 6 + [6, 7] + [0] * 4)
    assert terms.spread(data, NamedSharding(MESH, P()), to) is None
    assert terms.spread(data, None, to) is None
