"""References that loops write to are carried once, whichever part of the loop writes."""

import numpy as np
import pytest

import jitney
from jitney.primitives.control.contents import places_of_contents, run_with_contents


@pytest.mark.parametrize(
    ("cond", "body", "same", "held", "places"),
    [
        ([False], [False, False], [None, 0], [], [None, None, None]),
        ([False], [True, False], [None, 0], [1], [None, 0, None]),
        ([True], [False, True], [0, None], [0, 2], [0, 0, 1]),  # the body reads what cond writes
        ([False, False], [True], [1], [2], [None, 0, 0]),  # and the other way round
        ([True], [True], [0], [0], [0, 0]),
        ([True, False], [True, True], [None, 1], [0, 2, 3], [0, 2, 1, 2]),
    ],
)
def test_places(cond, body, same, held, places):
    assert places_of_contents(cond, body, same) == (held, places)


def test_a_part_reads_and_replaces_the_contents():
    one = np.float32(1)
    # (reference, constant, carry) -> carry, new contents
    part = jitney.make_jaxpr(lambda r, c, x: (x * c, r + x))(one, one, one)
    results, after = run_with_contents(
        part, [True], [None, np.float32(3)], [1, None], [np.float32(7), np.float32(10)], [one * 2]
    )
    assert [float(x) for x in results] == [6]
    assert [float(x) for x in after] == [7, 12]
