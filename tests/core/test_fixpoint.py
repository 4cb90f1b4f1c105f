"""Fixed points are found in as many rounds as the lattice is high."""

import pytest

from jitney.core.util.fixpoint import least_fixpoint, least_fixpoint_by


@pytest.mark.parametrize(
    "start, expected, rounds",
    [
        ([False] * 4, [False] * 4, 1),
        ([True, False, False, False], [True] * 4, 4),
        ([False, False, True, False], [False, False, True, True], 2),
    ],
)
def test_flags_spread_to_what_follows(start, expected, rounds):
    seen = []

    def shifted(flags):
        seen.append(list(flags))
        return len(seen), [False, *flags[:-1]]

    before = list(start)
    assert least_fixpoint(shifted, start) == (expected, rounds)
    assert start == before
    assert seen[-1] == expected


def test_flags_are_never_cleared():
    assert least_fixpoint(lambda flags: ("found", [False] * 2), [True, False])[0] == [True, False]
    assert least_fixpoint(lambda flags: ("found", []), []) == ([], "found")


def test_flags_before_and_after_are_as_many():
    with pytest.raises(ValueError, match="zip"):
        least_fixpoint(lambda flags: (None, [True]), [False, False])


def test_states_grow_by_any_join():
    links = {0: {1}, 1: {2, 3}, 2: {0}, 4: {5}}

    def analyze(state):
        return sorted(state), {y for x in state for y in links.get(x, ())}

    reached, found = least_fixpoint_by(analyze, frozenset({0}), lambda a, b: a | b)
    assert reached == {0, 1, 2, 3}
    assert found == [0, 1, 2, 3]
