"""Structures of trees compare by their containers, and survive pickling and protocol buffers."""

import collections
import copy
import pickle

import pytest

from jitney.core.pytree.treedef import LEAF, PyTreeDef, flatten

Point = collections.namedtuple("Point", "x y")


def structure(tree):
    return flatten(tree)[1]


@pytest.mark.parametrize(
    "tree, text, nodes, leaves",
    [
        (1, "*", 1, 1),
        ((), "()", 1, 0),
        ((1,), "(*,)", 2, 1),
        ([None, (1, 2)], "[None, (*, *)]", 5, 2),
        ({"b": 1, "a": [2]}, "{'a': [*], 'b': *}", 4, 2),
        (Point(1, 2), "CustomNode(namedtuple[Point], [*, *])", 3, 2),
    ],
)
def test_texts_and_counts(tree, text, nodes, leaves):
    tree_def = structure(tree)
    assert repr(tree_def) == f"PyTreeDef({text})"
    assert (tree_def.num_nodes, tree_def.num_leaves) == (nodes, leaves)
    assert copy.deepcopy(tree_def) is tree_def
    if not isinstance(tree, Point):  # whose class is not found by name
        assert pickle.loads(pickle.dumps(tree_def)) == tree_def
        assert PyTreeDef.deserialize_using_proto(None, tree_def.serialize_using_proto()) == tree_def


def test_structures_are_built_from_data_and_children():
    tree_def = structure({"a": 1, "b": (2, 3)})
    assert tree_def.node_data() == (dict, ["a", "b"])
    assert LEAF.node_data() is None
    built = PyTreeDef.from_node_data_and_children(None, tree_def.node_data(), tree_def.children())
    assert built == tree_def
    with pytest.raises(ValueError, match="is not a registered pytree node type"):
        PyTreeDef.from_node_data_and_children(None, (int, None), [])
    with pytest.raises(TypeError, match="has no constructor"):
        PyTreeDef()


def test_composition_replaces_leaves():
    outer, inner = structure([0, (0,)]), structure({"a": 0, "b": 0})
    assert outer.compose(inner) == structure([{"a": 0, "b": 0}, ({"a": 0, "b": 0},)])
    assert outer.compose(LEAF) == outer
    assert inner.compose(outer) == structure({"a": [0, (0,)], "b": [0, (0,)]})
    assert outer.compose(inner).num_leaves == 4


def test_walks_are_bottom_up():
    tree_def = structure([(1, 2), {"k": 3}])
    shown = tree_def.walk(lambda xs, data: (*xs, data), lambda x: x + 1, [1, 2, 3])
    assert shown == ((2, 3, None), (4, ["k"]), None)
    assert tree_def.from_iterable_tree(([10, 20], [30])) == [(10, 20), {"k": 30}]
    with pytest.raises(ValueError, match="zip"):
        tree_def.from_iterable_tree(([10], [30]))


def test_other_containers_are_not_written_as_protocol_buffers():
    with pytest.raises(ValueError, match="can be serialized, not Point"):
        structure(Point(1, 2)).serialize_using_proto()
    with pytest.raises(ValueError, match="keys of dictionaries must be strings"):
        structure({1: 2}).serialize_using_proto()
    with pytest.raises(ValueError, match="expected one pytree, got 2"):
        PyTreeDef.deserialize_using_proto(None, LEAF.serialize_using_proto() * 2)
