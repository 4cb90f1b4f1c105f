"""Diagrams of shardings have a cell for each shard, with the numbers of its devices."""

import numpy as np
import pytest

from jitney.api.parallel import visualize
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client


@pytest.fixture(scope="module")
def mesh():
    devices = Client("cpu", 0, (4,), 1).devices()
    return Mesh(np.array(devices).reshape(2, 2), ("x", "y"))


def drawn(capsys, shape, place, **options):
    visualize.visualize_sharding(shape, place, **options)
    return capsys.readouterr().out.rstrip("\n").split("\n")


def test_vectors_have_one_line(mesh, capsys):
    assert drawn(capsys, (4,), NamedSharding(mesh, P("x")), min_width=12) == [
        "┌──────────┬──────────┐",
        "│ CPU 0,1  │ CPU 2,3  │",
        "└──────────┴──────────┘",
    ]


@pytest.mark.parametrize(
    "spec, rows", [(P("x", "y"), [[0, 1], [2, 3]]), (P("y", "x"), [[0, 2], [1, 3]])]
)
def test_matrices_have_shards_where_their_elements_are(mesh, capsys, spec, rows):
    lines = drawn(capsys, (4, 4), NamedSharding(mesh, spec))
    cells = [
        [int(cell.split()[1]) for cell in line[1:-1].split("│")] for line in lines if "C" in line
    ]
    assert cells == rows
    assert len({len(line) for line in lines}) == 1


def test_diagrams_are_no_wider_than_requested(mesh, capsys):
    for width in (10, 21, 30):
        lines = drawn(capsys, (4, 64), NamedSharding(mesh, P(None, ("x", "y"))), max_width=width)
        assert max(map(len, lines)) <= width
    assert visualize._fitting([9, 9], 12) == [5, 4]


def test_other_ranks_and_shapes_that_cannot_be_sharded_are_refused(mesh):
    place = NamedSharding(mesh, P("x"))
    with pytest.raises(ValueError, match="draws shapes of one or two axes"):
        visualize.visualize_sharding((4, 4, 4), place)
    with pytest.raises(ValueError, match="5"):
        visualize.visualize_sharding((5,), place)
