"""The role of the ragged axis follows from the axes that a contraction names."""

import numpy as np
import pytest

from jitney.core.types.avals import shaped_array
from jitney.primitives.linalg.ragged_dimensions import (
    Mode,
    RaggedDotDimensionNumbers,
    check_axis,
    check_groups,
    prefix_axes,
    remaining,
    roles,
)


def numbers(ragged, groups=(), contracted=((2,), (1,)), batch=((0,), (0,))):
    return RaggedDotDimensionNumbers((contracted, batch), [ragged], groups)


def test_axes_that_remain():
    assert remaining(5, [1], (3, 4)) == (0, 2)
    assert remaining(0) == ()


@pytest.mark.parametrize(
    ("given", "mode", "outer", "prefix"),
    [
        (numbers(1), Mode.FREE, (), (0,)),
        (numbers(2), Mode.CONTRACTED, (), (0,)),
        (numbers(0), Mode.BATCH, (), ()),
        (numbers(3, batch=((), ())), Mode.FREE, (0, 1), (0, 1)),
        (numbers(3, contracted=((2, 3), (1, 2)), batch=((0, 1), (0, 3))), Mode.CONTRACTED, (2,),
         (0, 1, 2)),
        (numbers(1, batch=((0, 1), (0, 2))), Mode.BATCH, (0,), (0,)),
    ],
)  # fmt: skip
def test_roles(given, mode, outer, prefix):
    axes = roles(4, 4, given)
    assert (axes.mode, axes.outer) == (mode, outer)
    assert prefix_axes(axes, given) == prefix


def test_the_group_axis_is_not_free():
    assert roles(3, 4, numbers(1, [3])).free == ((1,), (2,))


def test_numbers_are_kept_as_plain_integers():
    given = numbers(np.int64(1), np.array([3]))
    assert given == numbers(1, (3,))
    assert hash(given) == hash(numbers(1, (3,)))


def test_group_axes_that_do_not_match():
    y = shaped_array((2, 4, 5, 3), np.float32)

    def check(given, groups=3):
        check_groups(y, groups, roles(3, 4, given), given)

    check(numbers(1, [3]))
    check(numbers(2))
    with pytest.raises(TypeError, match="noncontracting ragged axis, rhs must have 1 group axes"):
        check(numbers(1))
    with pytest.raises(TypeError, match="contracting ragged axis, rhs must have 0 group axes"):
        check(numbers(2, [3]))
    with pytest.raises(TypeError, match="neither a contracted nor a batch axis"):
        check(numbers(1, [0]))
    with pytest.raises(TypeError, match="there are 4 group sizes, but the group axis 3 of rhs"):
        check(numbers(1, [3]), groups=4)
    with pytest.raises(TypeError, match=r"in \[0, 2\), but is 2"):
        check_axis("lhs", "ragged", 2, 2)
