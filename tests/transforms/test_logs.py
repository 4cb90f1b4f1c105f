"""Logs of backward passes have each name once."""

import collections

import numpy as np
import pytest

from jitney.core.pytree.pytrees import tree_unflatten
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import shaped_array
from jitney.transforms.logs import add_entries, checked_log, flat_log
from jitney.transforms.zero import Zero


def test_entries_are_added_under_new_names():
    log = {"a": 1}
    add_entries(log, {"b": 2}, Primitive("test_p"))
    assert log == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="'b' exists already when the transpose of test_p"):
        add_entries(log, {"c": 3, "b": 4}, Primitive("test_p"))
    assert log == {"a": 1, "b": 2}


@pytest.mark.parametrize("log", [[], "a", collections.OrderedDict(a=1), 0])
def test_logs_are_plain_dictionaries(log):
    with pytest.raises(TypeError, match="the rule of f must return entries"):
        checked_log(log, "the rule of f")
    assert checked_log(None, "f") == {}
    entries = {"a": 1}
    assert checked_log(entries, "f") is entries


def test_leaves_of_logs_are_in_order_and_zeros_have_none():
    zero = Zero(shaped_array((2,), np.dtype(np.float32)))
    leaves, tree = flat_log({"b": (1, 2), "a": 3})
    assert leaves == [3, 1, 2]
    assert tree_unflatten(tree, leaves) == {"a": 3, "b": (1, 2)}
    assert flat_log({"a": zero})[0] == []  # a tree without leaves
