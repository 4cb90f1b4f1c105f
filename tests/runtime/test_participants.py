"""Slices that processes exchange are cut and joined as NumPy splits and concatenates."""

import numpy as np
import pytest

from jitney.compiler import library
from jitney.runtime.distributed import participants
from jitney.runtime.distributed.participants import Participants
from jitney.runtime.distributed.process_grid import ProcessGrid

GRID = ProcessGrid({"x": 2, "y": 3}, {"x": 1, "y": 4}, tuple(range(6)))


def member(place):
    """Returns the participant at a place of the grid, without the others that MPI would connect."""
    own = Participants.__new__(Participants)
    own.grid, own.place, own._groups, own._meeting, own.underway = GRID, place, {}, None, {}
    return own


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2])
def test_slices_are_stacked_and_put_side_by_side_again(dim, n):
    x = np.arange(48.0).reshape(4, 2, 6)
    parts = participants._one_after_another(x, dim, n)
    assert parts.flags.c_contiguous
    np.testing.assert_array_equal(parts, np.stack(np.split(x, n, dim)))
    result = np.zeros_like(x)
    participants._put_side_by_side(parts, dim, result)
    np.testing.assert_array_equal(result, x)


@pytest.mark.parametrize("shape", [(4, 2), (1, 4), (1, 1, 4), (2, 1, 4), (4,)])
def test_slices_are_in_order_if_their_bytes_are_one_after_another(shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    for dim, size in enumerate(shape):
        in_order = (participants._one_after_another(x, dim, size).ravel() == x.ravel()).all()
        if participants._are_in_order(shape, dim):
            assert in_order
        else:
            assert size == 1 or x.size == size or not in_order


def test_messages_are_the_memory_itself():
    x = np.arange(4, dtype=np.int16)
    participants._bytes(x)[:2] = 255
    assert x[0] == -1 and participants._bytes(x).nbytes == 8
    assert participants._bytes(np.empty((0, 3))).shape == (0,)


def test_numbers_along_axes_are_in_row_major_order():
    places = [member(place) for place in np.ndindex(2, 3)]
    xy, yx = (("x", 2), ("y", 3)), (("y", 3), ("x", 2))
    assert [own.number(xy) for own in places] == list(range(6))
    assert [own.number(yx) for own in places] == [0, 2, 4, 1, 3, 5]
    assert [own.number((("y", 3),)) for own in places] == [0, 1, 2] * 2
    assert {own.number(()) for own in places} == {0}


def test_collectives_complete_in_the_end():
    own, done = member((0, 0)), []
    for number in range(3):
        own.begin(number, lambda *arrays: ([], lambda: done.append(len(arrays))), *[0] * number)
    own.finish(1)
    assert done == [1] and list(own.underway) == [0, 2]
    own.give_up()
    assert done == [1, 2, 0] and not own.underway


def test_groups_that_were_not_made_are_not_known():
    with pytest.raises(ValueError, match="the processes have not created a group along"):
        member((0, 0)).known_group((("x", 2),), None)
    routine = library.Routine(
        "mpi.finish", (("ranks", (7, 8)), ("extents", (("x", 2),)), ("number", 0))
    )
    with pytest.raises(ValueError, match=r"the processes \(7, 8\) have no communicator"):
        participants._procedure(routine)
