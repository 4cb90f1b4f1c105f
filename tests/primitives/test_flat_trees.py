"""Structures of loops' operands: counts, and printed forms that determine them."""

import pickle

import pytest

from jitney.primitives import flat_trees as ft


def test_groups_count_their_values():
    tree = ft.operands(2, 0, 1)
    assert repr(tree) == "((None, None), (), (None,))"
    assert len(tree) == 3
    assert [len(t) for t in tree.unpack()] == [2, 0, 1]
    assert ft.sizes({"ft_in": tree}) == (2, 0)


def test_equal_trees_are_one_object():
    assert ft.group(ft.VALUE, ft.VALUE) is ft.values(2)
    assert pickle.loads(pickle.dumps(ft.results(1, 2))) is ft.results(1, 2)


def test_results_that_equal_operands_are_not_counted():
    into, out = ft.groups(0, 1, 2, (None, 1))
    assert len(into) == 3
    assert len(out) == 2
    assert repr(out) == "((None,), (RightsOnly(Right(None)), RightsOnly(Left(None))))"


@pytest.mark.parametrize(
    ("keep", "want"),
    [
        ([True, False, True], "((RightsOnly(Right(None)), RightsOnly(Left(None))), "
                              "(RightsOnly(Right(None)),))"),
        ([True] * 3, "((RightsOnly(Right(None)), RightsOnly(Right(None))), "
                     "(RightsOnly(Right(None)),))"),
    ],
)  # fmt: skip
def test_values_are_left_out(keep, want):
    tree = ft.kept(ft.group(ft.values(2), ft.values(1)), keep)
    assert repr(tree) == want
    assert len(tree) == sum(keep)


def test_values_that_are_left_out_stay_so():
    once = ft.kept(ft.values(3), [True, False, True])
    twice = ft.kept(once, [False, True])
    assert len(twice) == 1
    assert repr(twice).count("Left(None)") == 2


def test_a_pair_is_split_into_its_halves():
    pair = ft.group(ft.values(2), ft.values(1))
    assert ft.split(pair, [False, False, True]) == pair.elts
    early, late = ft.split(pair, [False, True, True])
    assert (len(early), len(late)) == (1, 2)


def test_lists_of_lists():
    tree = ft.lists((2, (1, 0)))
    assert len(tree) == 3
    assert repr(tree).endswith("tree=PyTreeDef(([*, *], ([*], []))))")
    assert [len(t) for t in tree.elts] == [2, 1]
