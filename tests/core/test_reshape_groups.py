"""Which axes of an array become which by a reshape: `jitney.core.util.reshape_groups`."""

import math
import random

import pytest

from jitney.core.util.reshape_groups import reshape_groups


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ((), (), []),
        ((1, 1), (1,), []),
        ((6,), (6,), [([0], [0])]),
        ((6,), (2, 3), [([0], [0, 1])]),
        ((2, 3, 5), (6, 5), [([0, 1], [0]), ([2], [1])]),
        ((2, 1, 3), (1, 2, 3), [([0], [1]), ([2], [2])]),
        ((4, 6), (6, 4), [([0, 1], [0, 1])]),
        ((4, 6, 5), (8, 3, 5), [([0, 1], [0, 1]), ([2], [2])]),
        ((0,), (0, 5), [([0], [0, 1])]),
        ((0, 4), (0,), [([0, 1], [0])]),
        ((0, 4), (0, 2, 2), [([0], [0]), ([1], [1, 2])]),
        ((4, 0), (2, 2, 0), [([0], [0, 1]), ([1], [2])]),
        ((4, 0), (0, 4), [([0, 1], [0, 1])]),
        ((4, 0, 3), (3, 0), [([0, 1, 2], [0, 1])]),
        ((0, 0), (0,), [([0, 1], [0])]),
    ],
)
def test_groups(old, new, expected):
    assert reshape_groups(old, new) == expected


def _shape(rng, size):
    """A random shape of `size` elements, with ones among its axes."""
    shape = []
    while size > 1:
        n = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        shape += [n, *[1] * rng.randrange(2)]
        size //= n
    return tuple(shape)


def test_groups_have_as_many_elements_and_none_is_longer_than_it_must_be():
    rng = random.Random(7)
    for _ in range(2000):
        size = rng.choice([2, 12, 64, 210, 360])
        old, new = _shape(rng, size), _shape(rng, size)
        groups = reshape_groups(old, new)
        for shape, side in ((old, 0), (new, 1)):
            assert [k for group in groups for k in group[side]] == [
                k for k, n in enumerate(shape) if n != 1
            ]
        for taken, made in groups:
            assert math.prod(old[k] for k in taken) == math.prod(new[k] for k in made)
            heads = {math.prod(old[k] for k in taken[:i]) for i in range(1, len(taken))}
            assert heads.isdisjoint(
                math.prod(new[k] for k in made[:j]) for j in range(1, len(made))
            )


def test_shapes_with_zeros_lose_no_axis():
    rng = random.Random(8)
    for _ in range(500):
        old, new = (tuple(rng.choices([0, 1, 2, 3], k=rng.randrange(4))) for _ in range(2))
        groups = reshape_groups((0, *old), (*new, 0))
        for shape, side in (((0, *old), 0), ((*new, 0), 1)):
            assert [k for group in groups for k in group[side]] == [
                k for k, n in enumerate(shape) if n != 1
            ]
