"""A process's window of an array is the box that the shards of its devices fill."""

import numpy as np
import pytest

from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices import windows
from jitney.runtime.devices.client import Client

DEVICES = np.array(Client("cpu", 0, (2, 2, 2), 1).devices())  # of three processes
GRID = Mesh(DEVICES.reshape(3, 2), ("process", "own"))
SHAPE = (6, 4)


def place(*spec, mesh=GRID):
    return NamedSharding(mesh, P(*spec))


@pytest.mark.parametrize(
    "spec, expected",
    [
        (("process", "own"), (slice(2, 4), slice(0, 4))),
        (("process",), (slice(2, 4), slice(0, 4))),
        (("own",), (slice(0, 6), slice(0, 4))),
        ((), (slice(0, 6), slice(0, 4))),
        ((("process", "own"),), (slice(2, 4), slice(0, 4))),
    ],
)
def test_windows_of_the_second_process(spec, expected):
    assert windows.window(place(*spec), SHAPE, 1) == expected


@pytest.mark.parametrize("spec", [("process", "own"), (("process", "own"),), (None, "own")])
def test_windows_of_all_processes_cover_the_array(spec):
    seen = np.zeros(SHAPE, int)
    for number in range(3):
        seen[windows.window(place(*spec), SHAPE, number)] += 1
    assert (seen == (3 if "process" not in str(spec) else 1)).all()


def test_processes_without_a_device_have_an_empty_window():
    partial = place("i", mesh=Mesh(DEVICES[:4], ("i",)))
    assert windows.window_shape(partial, (8,), 2) == (0,)
    assert windows.window_shape(partial, (8,), 1) == (4,)


def test_shards_that_fill_no_box_are_refused():
    mixed = place("i", mesh=Mesh(DEVICES[[0, 2, 1, 3]], ("i",)))
    with pytest.raises(ValueError, match=r"process 0 has the indices \[\(0,\), \(2,\)\]"):
        windows.window(mixed, (8,), 0)


@pytest.mark.parametrize("spec", [("process", "own"), ("own",), (None, "process"), ()])
def test_the_whole_shape_follows_from_the_shape_of_a_window(spec):
    whole = (6, 12)
    assert windows.global_shape(place(*spec), windows.window_shape(place(*spec), whole)) == whole


def test_what_belongs_to_this_process():
    local = place("i", mesh=Mesh(DEVICES[:2], ("i",)))
    assert windows.is_local(local) and not windows.is_local(place())
    assert windows.holds_all(place("own"), SHAPE) and not windows.holds_all(place("process"), SHAPE)
    assert windows.first_of(DEVICES[[5, 1, 0]]) is DEVICES[1]
    assert windows.first_of(DEVICES[[5, 4]]) is DEVICES[5]


def test_indices_relative_to_a_window():
    box = (slice(2, 4), slice(1, 4))
    assert windows.within((slice(3, 4), slice(None)), box) == (slice(1, 2), slice(0, 3))
    assert windows.shape_of(box) == (2, 3)
