"""Containers are registered once, and one level of them is taken apart by their rules."""

import collections
import dataclasses

import pytest

from jitney.core.pytree import registry
from jitney.core.pytree.registry import (
    KINDS,
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    find_kind,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_with_keys,
    register_static,
)

Pair = collections.namedtuple("Pair", "x y")


@pytest.fixture(autouse=True)
def kinds_of_this_test():
    before = dict(KINDS)
    yield
    for kind in KINDS.keys() - before.keys():
        del KINDS[kind]


@pytest.mark.parametrize(
    "tree, children, keys",
    [
        ((5, 6), (5, 6), [SequenceKey(0), SequenceKey(1)]),
        ({"b": 1, "a": 2}, (2, 1), [DictKey("a"), DictKey("b")]),
        (collections.OrderedDict(b=1, a=2), [1, 2], [DictKey("b"), DictKey("a")]),
        (collections.defaultdict(int, b=1, a=2), [2, 1], [DictKey("a"), DictKey("b")]),
        (Pair(5, 6), [5, 6], [GetAttrKey("x"), GetAttrKey("y")]),
        (None, (), []),
        ([], [], []),
    ],
)
def test_one_level_of_a_container(tree, children, keys):
    found, data = flatten_one_level(tree)
    assert found == children  # sequences of the types that JAX returns
    assert flatten_one_level_with_keys(tree)[0] == list(zip(keys, children, strict=True))
    rebuilt = find_kind(type(tree)).unflatten(data, tuple(found))
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)


def test_leaves_have_no_children():
    assert not is_tree_node(float)
    with pytest.raises(ValueError, match="is not registered as a pytree, so it is a leaf"):
        flatten_one_level(1.0)
    with pytest.raises(ValueError, match="is not registered as a pytree, so it is a leaf"):
        flatten_one_level_with_keys(1.0)


def test_classes_are_registered_once_and_subclasses_are_leaves():
    class Box:
        def __init__(self, x):
            self.x = x

    class Inner(Box):
        pass

    assert not is_tree_node(Box)
    register_pytree_node(Box, lambda box: ([box.x], None), lambda _, xs: Box(*xs))
    assert flatten_one_level_with_keys(Box(3)) == ([(FlattenedIndexKey(0), 3)], None)
    assert not is_tree_node(Inner)
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        register_pytree_node(Box, lambda box: ([box.x], None), lambda _, xs: Box(*xs))
    with pytest.raises(TypeError, match="expected a class and two functions"):
        register_pytree_node(Box(1), lambda box: ([], None), Box)


def test_names_of_children_are_those_of_the_user():
    class Named(dict):
        pass

    register_pytree_with_keys(
        Named,
        lambda x: ([(f"<{k}>", v) for k, v in x.items()], tuple(x)),
        lambda names, xs: Named(zip(names, xs, strict=True)),
    )
    assert flatten_one_level_with_keys(Named(b=1))[0] == [("<b>", 1)]
    assert flatten_one_level(Named(b=1)) == ((1,), ("b",))


def test_fields_of_dataclasses_are_children_or_static():
    @dataclasses.dataclass
    class Point:
        x: int
        name: str = dataclasses.field(metadata={"static": True})
        cache: int = 0

    register_dataclass(Point, drop_fields=["cache"])
    children, data = flatten_one_level(Point(1, "p", 7))
    assert (tuple(children), data) == ((1,), ("p",))
    assert find_kind(Point).unflatten(data, children) == Point(1, "p", 0)
    for data, meta, message in [
        (["x"], ["x"], "each field must be either data or metadata"),
        (["x"], [], "are in neither"),
        (["x", "name", "cache", "z"], [], "but {'z'} are not"),
    ]:
        with pytest.raises(ValueError, match=message):
            register_dataclass(Point, data, meta)
    with pytest.raises(TypeError, match="for a dataclass, neither"):
        register_dataclass(Point, ["x"])
    with pytest.raises(TypeError, match="is not a dataclass"):
        register_dataclass(int)


def test_static_classes_have_no_children():
    @register_static
    class Mode(str):
        __slots__ = ()

    assert flatten_one_level(Mode("fast")) == ((), "fast")


def test_keys_of_different_kinds_are_not_equal():
    assert SequenceKey(1) != FlattenedIndexKey(1)
    assert hash(SequenceKey(1)) != hash(FlattenedIndexKey(1))
    assert "".join(map(str, (SequenceKey(1), DictKey("a"), GetAttrKey("b")))) == "[1]['a'].b"


def test_the_set_of_types_of_leaves_is_bounded():
    for _ in range(registry._MAX_LEAF_TYPES + 2):
        find_kind(type("Leaf", (), {}))
    assert len(registry.LEAF_TYPES) <= registry._MAX_LEAF_TYPES
