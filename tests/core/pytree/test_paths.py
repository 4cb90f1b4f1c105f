"""Paths lead to leaves, through the keys of the containers around them."""

import pytest

from jitney.core.pytree.paths import (
    generate_key_paths,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
)
from jitney.core.pytree.registry import (
    KINDS,
    DictKey,
    GetAttrKey,
    SequenceKey,
    register_pytree_with_keys,
)
from jitney.core.pytree.treedef import flatten

TREE = {"b": [1, (2, None)], "a": 3}


def test_leaves_have_paths_in_order():
    pairs, structure = tree_flatten_with_path(TREE)
    assert [(keystr(path), x) for path, x in pairs] == [
        ("['a']", 3),
        ("['b'][0]", 1),
        ("['b'][1][0]", 2),
    ]
    assert structure == flatten(TREE)[1]
    assert pairs == generate_key_paths(TREE) == tree_leaves_with_path(TREE)
    for path, x in pairs:
        found = TREE
        for key in path:
            found = found[key.key if isinstance(key, DictKey) else key.idx]
        assert found == x


def test_leaves_are_chosen_by_value_or_by_path():
    chosen = tree_leaves_with_path(TREE, is_leaf=lambda x: isinstance(x, list))
    assert [x for _, x in chosen] == [3, TREE["b"]]
    by_path = tree_leaves_with_path(TREE, lambda path, x: len(path) == 2, True)
    assert [(keystr(path), x) for path, x in by_path] == [
        ("['a']", 3),
        ("['b'][0]", 1),
        ("['b'][1]", (2, None)),
    ]
    with pytest.raises(ValueError, match="returned a non-boolean value 2"):
        tree_leaves_with_path(TREE, lambda path, x: 2, True)


def test_users_keys_are_asked_of_each_object():
    class Row:
        def __init__(self, *cells):
            self.cells = cells

    register_pytree_with_keys(
        Row,
        lambda row: ([(GetAttrKey(f"c{k}"), x) for k, x in enumerate(row.cells)], None),
        lambda _, xs: Row(*xs),
    )
    try:
        pairs, structure = tree_flatten_with_path([Row(5, (6,)), 7])
        assert [keystr(path) for path, _ in pairs] == ["[0].c0", "[0].c1[0]", "[1]"]
        assert structure == flatten([Row(0, (0,)), 0])[1]
    finally:
        del KINDS[Row]


def test_texts_of_paths():
    path = (DictKey("a"), SequenceKey(0), GetAttrKey("x"), "?")
    assert keystr(path) == "['a'][0].x?"
    assert keystr(path, simple=True, separator="/") == "a/0/x/?"
    assert keystr(()) == ""
