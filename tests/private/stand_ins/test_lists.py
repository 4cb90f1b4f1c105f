"""Lists and tuples are split, merged and updated as `jax._src.util` does it."""

import pytest

from jitney.private.stand_ins import lists
from jitney.private.stand_ins.lists import (
    OrderedSet,
    canonicalize_axis,
    canonicalize_axis_tuple,
    ceil_of_ratio,
    maybe_named_axis,
    merge_lists,
    partition_list,
    ranges_like,
    remaining,
    safe_zip,
    split_list,
    split_list_checked,
    stable_unique,
    subs_list,
    subs_list2,
    subvals,
    unflatten,
    unzip2,
    unzip3,
)


def test_pairs_are_taken_apart_and_put_together():
    triples = [(1, "a", 2.0), (3, "b", 4.0)]
    assert unzip3(iter(triples)) == ((1, 3), ("a", "b"), (2.0, 4.0))
    assert unzip2([]) == ((), ()) and safe_zip(*unzip3(triples)) == triples
    with pytest.raises(ValueError, match=r"must have equal lengths, but got \[1, 2\]"):
        safe_zip([1], [2, 3])


def test_splits_and_their_inverses():
    values = list("abcde")
    assert split_list(values, [2, 0]) == [["a", "b"], [], ["c", "d", "e"]]
    assert split_list_checked(values, [2, 3]) == unflatten(values, [2, 3])
    assert lists.concatenate(split_list(values, [1, 2])) == values
    flags = [True, False, False, True, False]
    assert partition_list(flags, values) == (["b", "c", "e"], ["a", "d"])
    assert merge_lists(flags, *partition_list(flags, values)) == values


@pytest.mark.parametrize(
    "call",
    [
        lambda: split_list_checked([1, 2], [1]),
        lambda: partition_list([True], []),
        lambda: merge_lists([True], [1], [2]),
        lambda: unflatten([1, 2], [1]),
        lambda: subs_list([None], [], [1, 2]),
        lambda: lists.tuple_insert((1,), 2, 0),
        lambda: lists.tuple_delete((1,), 1),
        lambda: lists.tuple_update((1,), -1, 0),
    ],
)
def test_what_is_left_over_is_refused(call):
    with pytest.raises(AssertionError):
        call()


def test_elements_are_replaced_by_position():
    assert subs_list([1, None, 0], "xy", "a") == ["y", "a", "x"]
    assert subs_list2([0, None, None], [0, 0, None], "x", "y", "a") == ["x", "y", "a"]
    assert subvals("abc", [(2, "z"), (0, "x")]) == ("x", "b", "z")
    assert lists.tuple_insert((1, 2), 2, 3) == (1, 2, 3)
    assert lists.tuple_delete((1, 2, 3), 1) == (1, 3)
    assert lists.tuple_update((1, 2, 3), 1, 0) == (1, 0, 3)


def test_ranges_and_elements_that_remain():
    assert list(ranges_like("ab", "", "c")) == [range(2), range(2, 2), range(2, 3)]
    assert remaining([[1], [2], [3]], [[2]], [[3]]) == [[1]]
    assert list(stable_unique([3, 1, 3, 2, 1])) == [3, 1, 2]
    assert [ceil_of_ratio(n, 3) for n in (0, 1, 3, 4, -4)] == [0, 1, 1, 2, -1]


def test_axes_count_from_either_end():
    assert [canonicalize_axis(k, 3) for k in (0, 2, -1, -3)] == [0, 2, 2, 0]
    for axis in 3, -4:
        with pytest.raises(ValueError, match=f"axis {axis} is out of bounds"):
            canonicalize_axis(axis, 3)
    assert canonicalize_axis_tuple(None, 2) == (0, 1) and canonicalize_axis_tuple(-1, 2) == (1,)
    assert canonicalize_axis_tuple((0, -2), 2, allow_duplicate=True) == (0, 0)
    with pytest.raises(ValueError, match="axes must be unique"):
        canonicalize_axis_tuple((0, -2), 2)
    assert maybe_named_axis(True, lambda k: k + 1, str) == 2
    assert maybe_named_axis("i", None, str.upper) == "I"


def test_sets_keep_the_order_of_insertion():
    s = OrderedSet("cab")
    s.update("bd", "a")
    s.discard("a")
    s.discard("x")
    s.add("a")
    assert list(s) == list("cbda") and len(s) == 4 and "a" in s and "x" not in s
