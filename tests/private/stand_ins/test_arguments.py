"""Positions and names of arguments are given one by one or as sequences."""

import numpy as np
import pytest

from jitney.private.stand_ins.arguments import (
    ensure_index,
    ensure_index_tuple,
    ensure_str_tuple,
    is_hashable,
)


def test_positions_are_integers_or_tuples_of_them():
    found = ensure_index(np.int64(3))
    assert found == 3 and type(found) is int
    assert ensure_index([np.int8(1), True]) == (1, 1) and ensure_index(()) == ()
    assert ensure_index_tuple(2) == (2,) and ensure_index_tuple([0, 2]) == (0, 2)


@pytest.mark.parametrize("x", [1.0, [0, 1.5], "a", None])
def test_other_positions_are_refused(x):
    with pytest.raises(TypeError):
        ensure_index(x)


def test_a_name_is_not_a_sequence_of_letters():
    assert ensure_str_tuple("ab") == ("ab",) and ensure_str_tuple(["a", "b"]) == ("a", "b")
    assert ensure_str_tuple(()) == ()
    with pytest.raises(TypeError, match="names must be strings, but got 3"):
        ensure_str_tuple(["a", 3])


def test_hashable_values_are_those_whose_parts_are():
    assert is_hashable((1, "a")) and not is_hashable((1, [])) and not is_hashable(np.zeros(1))
