"""The registered containers are a mapping that follows later registrations."""

import collections

import pytest

import jitney
from jitney.private.stand_ins.registry import registry


def test_entries_flatten_and_unflatten():
    entry = registry[dict]
    children, data = entry.to_iter({"b": 2, "a": 1})
    assert list(children) == [1, 2]
    assert entry.from_iter(data, iter([10, 20])) == {"a": 10, "b": 20}
    point = collections.namedtuple("point", "x y")
    assert point not in registry and tuple in registry and int not in registry
    with pytest.raises(KeyError):
        registry[int]


def test_new_types_appear():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    before = len(registry)
    jitney.tree_util.register_pytree_node(
        Pair, lambda p: ((p.a, p.b), "data"), lambda data, xs: Pair(*xs)
    )
    assert len(registry) == before + 1 == len(list(registry)) and Pair in registry
    entry = registry[Pair]
    children, data = entry.to_iter(Pair(1, 2))
    again = entry.from_iter(data, children)
    assert data == "data" and (again.a, again.b) == (1, 2)
