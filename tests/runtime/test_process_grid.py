"""Meshes over several processes are grids of processes if the devices of each form a block."""

import numpy as np
import pytest

from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client
from jitney.runtime.distributed.process_grid import grid_of

DEVICES = np.array(Client("cpu", 0, (4, 4), 1).devices())


def mesh(order, names="xy"):
    return Mesh(DEVICES[np.array(order)], tuple(names))


ROWS = mesh([[0, 1, 2, 3], [4, 5, 6, 7]])
HALVES = mesh([[0, 1, 4, 5], [2, 3, 6, 7]])
REVERSED = mesh([4, 5, 6, 7, 0, 1, 2, 3], "x")


@pytest.mark.parametrize(
    "own, extents, devices, ranks",
    [
        (ROWS, {"x": 2, "y": 1}, {"x": 1, "y": 4}, (0, 1)),
        (HALVES, {"x": 1, "y": 2}, {"x": 2, "y": 2}, (0, 1)),
        (REVERSED, {"x": 2}, {"x": 4}, (1, 0)),
        (mesh([1, 0], "x"), {"x": 1}, {"x": 2}, (0,)),
    ],
)
def test_extents_and_devices_of_a_process(own, extents, devices, ranks):
    grid = grid_of(own)
    assert (grid.extents, grid.devices, grid.ranks) == (extents, devices, ranks)
    assert grid_of(own) is grid


@pytest.mark.parametrize(
    "order", [[0, 4, 1, 5], [0, 1, 2, 4], [[0, 4], [5, 1]], [0, 1, 4, 5, 2, 3, 6, 7]]
)
def test_devices_of_a_process_have_to_form_a_block(order):
    with pytest.raises(ValueError, match="the devices of each process must form a block"):
        grid_of(mesh(order, "xy"[: np.ndim(order)]))


def test_arrays_are_divided_along_axes_that_separate_processes():
    grid = grid_of(HALVES)
    assert grid.spec(NamedSharding(HALVES, P("x", "y")), 3) == ((), ("y",), ())
    assert grid.spec(NamedSharding(HALVES, P(None, P.UNCONSTRAINED)), 2) == ((), ())
    assert grid_of(ROWS).spec(NamedSharding(ROWS, P(("x", "y"))), 1) == (("x",),)


def test_shards_of_a_process_have_to_be_adjacent():
    with pytest.raises(ValueError, match="sharded along 'y' and then 'x', so that a process"):
        grid_of(ROWS).spec(NamedSharding(ROWS, P(("y", "x"))), 1)
