"""Trees are mapped, reduced, broadcast and transposed by their structure."""

import functools
import operator

import pytest

from jitney.core.pytree.pytrees import (
    Partial,
    all_leaves,
    broadcast_axes,
    broadcast_prefix,
    count_leaves,
    default_registry,
    tree_all,
    tree_broadcast,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_structure,
    tree_transpose,
    tree_unflatten,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)

TREE = {"b": [1, (2, None)], "a": 3}


def test_leaves_and_structure_determine_the_tree():
    leaves, structure = tree_flatten(TREE)
    assert leaves == [3, 1, 2]
    assert tree_unflatten(structure, leaves) == TREE
    assert count_leaves(TREE) == 3
    assert tree_leaves(TREE, is_leaf=lambda x: isinstance(x, tuple) or x is None) == [
        3,
        1,
        (2, None),
    ]
    with pytest.raises(ValueError, match="takes as many, but got 2, which is too few"):
        tree_unflatten(structure, leaves[:2])


def test_functions_are_mapped_over_subtrees_of_other_trees():
    assert tree_map(operator.add, TREE, TREE) == {"b": [2, (4, None)], "a": 6}
    assert tree_map(lambda x, y: y, [0, 0], [(1, 2), None]) == [(1, 2), None]
    with pytest.raises(ValueError, match=r"rest\[0\]|tree"):
        tree_map(operator.add, [1, 2], [1])
    shown = tree_map_with_path(lambda path, x: f"{''.join(map(str, path))}={x}", TREE)
    assert shown == {"b": ["['b'][0]=1", ("['b'][1][0]=2", None)], "a": "['a']=3"}


def test_reductions_go_from_the_left_or_are_balanced():
    words = list("abcde")
    assert tree_reduce(lambda x, y: f"({x}{y})", words) == "((((ab)c)d)e)"
    assert tree_reduce(operator.add, {}, "") == ""
    assert tree_reduce_associative(lambda x, y: f"({x}{y})", words) == "((ab)(c(de)))"
    assert tree_reduce_associative(operator.add, [], identity=0) == 0
    with pytest.raises(TypeError, match="without leaves has no result"):
        tree_reduce_associative(operator.add, [None])
    assert tree_all([True, (1, None)])
    assert not tree_all([True, (0,)])


def test_prefixes_are_repeated_for_the_leaves_below():
    assert broadcast_prefix([1, 2], [(0, 0), {"a": 0}]) == [1, 1, 2]
    assert broadcast_axes([0, None], [(5, 5), [5, None]]) == [0, 0, None]
    assert tree_broadcast((1, 2), ([0, 0], {"a": 0})) == ([1, 1], {"a": 2})
    with pytest.raises(ValueError, match="prefix"):
        broadcast_prefix([1], (0,))


def test_transposition_exchanges_outer_and_inner_trees():
    outer, inner = tree_structure([0, 0, 0]), tree_structure({"a": 0, "b": 0})
    tree = [{"a": k, "b": 10 * k} for k in range(3)]
    columns = {"a": [0, 1, 2], "b": [0, 10, 20]}
    assert tree_transpose(outer, inner, tree) == columns
    assert tree_transpose(outer, None, tree) == columns
    assert tree_transpose(inner, outer, columns) == tree
    with pytest.raises(TypeError, match="Mismatch"):
        tree_transpose(outer, inner, tree[:2])


def test_structures_are_taken_apart_and_put_together():
    children = treedef_children(tree_structure(TREE))
    assert children == [tree_structure(3), tree_structure(TREE["b"])]
    assert treedef_tuple(children) == tree_structure((3, TREE["b"]))
    assert treedef_is_leaf(tree_structure(3))
    assert treedef_is_leaf(tree_structure(()))  # one node
    assert not treedef_is_leaf(tree_structure((1,)))
    assert all_leaves([1, "a"])
    assert not all_leaves([1, ()])
    assert all_leaves([(1, 2)], is_leaf=lambda x: isinstance(x, tuple))


def test_partial_applications_are_trees_of_their_arguments():
    partial = Partial(operator.sub, 10)
    assert tree_leaves(partial) == [10]
    assert tree_map(lambda x: 2 * x, partial)(3) == 17
    nested = Partial(functools.partial(operator.sub, 10), 3)
    assert tree_leaves(nested) == [3]  # the inner argument is static
    assert nested() == 7
    assert nested.func.__name__ == "sub"


def test_the_registry_flattens_one_level():
    assert default_registry.flatten_one_level([1, (2,)])[0] == [1, (2,)]
    assert default_registry.flatten_one_level(1) is None
    assert default_registry.is_node(None)
