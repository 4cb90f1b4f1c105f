"""`PyTreeDef`, the structure of a pytree without its leaves, and the flattening of trees.

Read `registry` first. Structures are immutable trees. The structures of plain containers are
interned, so that look-ups in dictionaries keyed by structures mostly compare by identity; equality
is still structural.

The traversals that every call needs are native (`_walks.pyx`): libraries use deep trees, and
flattening a hundred small containers in Python would take longer than a small program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.pytree import refusals
from jitney.core.pytree._walks import (
    Structure,
    flatten as flatten,
    flatten_until as flatten_until,
    make_node as make_node,
    start,
)
from jitney.core.pytree.registry import KINDS, LEAF_TYPES, NONE_TYPE, find_kind

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

IsLeaf = Callable[[Any], bool]
R = TypeVar("R")


class PyTreeDef(Structure):
    """The structure of a pytree: `PyTreeDef({'a': *, 'b': (*, None)})`.

    `Structure` defines its attributes, and `unflatten`, `flatten_up_to`, `==` and `hash`.
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("PyTreeDef has no constructor; use tree_structure(tree)")

    # --- parts ---

    def children(self) -> list[PyTreeDef]:
        """Returns the structures of the children."""
        return list(self.subtrees)

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves."""
        if self.flat:
            return 1 + len(self.subtrees)
        return 1 + sum([t.num_nodes for t in self.subtrees])

    def node_data(self) -> tuple[type, object] | None:
        """Returns (type, static data) of the outermost container; None for a leaf."""
        if self.kind is None:
            return None
        data = list(self.data) if self.kind.type is dict else self.data
        return self.kind.type, data

    @staticmethod
    def from_node_data_and_children(
        registry: object, node_data: tuple[Any, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Builds a structure from its `node_data` and `children`.

        Raises:
          ValueError: if the type is not registered.
        """
        subtrees = tuple(children)
        if node_data is None:
            return LEAF
        kind = find_kind(node_data[0])
        if kind is None:
            raise ValueError(f"{node_data[0]!r} is not a registered pytree node type.")
        data: Any = None if kind.family == "namedtuple" else node_data[1]
        return make_node(kind, tuple(data) if kind.type is dict else data, subtrees)

    def serialize_using_proto(self) -> bytes:
        """Returns this structure as a protocol buffer, for other processes.

        Raises:
          ValueError: if it has containers other than None, tuples, lists and dictionaries with
            string keys.
        """
        from jitney.core.pytree import wire

        nodes: list[wire.Node] = []
        types = {list: wire.LIST, NONE_TYPE: wire.NONE, tuple: wire.TUPLE, dict: wire.DICT}

        def visit(tree: PyTreeDef) -> None:
            for t in tree.subtrees:
                visit(t)
            if tree.kind is None:
                nodes.append((wire.LEAF, 0, ()))
                return
            type_ = types.get(tree.kind.type)
            if type_ is None:
                raise ValueError(
                    "serialize_using_proto: only tuples, lists and dictionaries can be serialized, "
                    f"not {tree.kind.type.__name__}; pickle the structure, or convert it"
                )
            keys = tree.data if type_ == wire.DICT else ()
            if not all(type(key) is str for key in keys):
                raise ValueError(
                    f"serialize_using_proto: keys of dictionaries must be strings, got {keys!r}"
                )
            nodes.append((type_, len(tree.subtrees), tuple(keys)))

        visit(self)
        return wire.encode(nodes)

    @staticmethod
    def deserialize_using_proto(registry: object, data: bytes) -> PyTreeDef:
        """Returns the structure serialized by `serialize_using_proto`.

        Raises:
          ValueError: if `data` is not a serialized structure.
        """
        from jitney.core.pytree import wire

        kinds = {
            wire.LIST: KINDS[list], wire.NONE: KINDS[NONE_TYPE], wire.TUPLE: KINDS[tuple],
            wire.DICT: KINDS[dict],
        }  # fmt: skip
        done: list[PyTreeDef] = []
        for type_, arity, keys in wire.decode(data):
            if type_ == wire.LEAF and not arity:
                done.append(LEAF)
                continue
            if type_ not in kinds or arity > len(done):
                raise ValueError(f"deserialize_using_proto: node {len(done)} is not valid")
            start = len(done) - arity
            done[start:] = [
                make_node(kinds[type_], keys if type_ == wire.DICT else None, tuple(done[start:]))
            ]
        if len(done) != 1:
            raise ValueError(f"deserialize_using_proto: expected one pytree, got {len(done)}")
        return done[0]

    # --- putting together ---

    def walk(
        self, f_node: Callable[[Any, Any], R], f_leaf: Callable[[Any], R], leaves: Iterable[object]
    ) -> R:
        """Applies `f_leaf(leaf)` and, for containers, `f_node(children, data)`, bottom-up."""
        remaining = iter(leaves)

        def visit(tree: PyTreeDef) -> R:
            if tree.kind is None:
                return f_leaf(next(remaining))
            node_data = tree.node_data()
            assert node_data is not None
            return f_node(tuple([visit(t) for t in tree.subtrees]), node_data[1])

        return visit(self)

    def from_iterable_tree(self, tree: PyTree) -> object:
        """Returns a tree of this structure, built from nested iterables."""
        if self.kind is None:
            return tree
        parts = [t.from_iterable_tree(x) for t, x in zip(self.subtrees, tree, strict=True)]
        return self.kind.unflatten(self.data, tuple(parts))

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Returns this structure with each leaf replaced by `inner`."""
        if self.kind is None:
            return inner
        return make_node(self.kind, self.data, tuple([t.compose(inner) for t in self.subtrees]))

    # --- identity ---

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.node_data(), self.subtrees)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __repr__(self) -> str:
        return f"PyTreeDef({_text(self)})"


def _text(tree: PyTreeDef) -> str:
    kind = tree.kind
    if kind is None:
        return "*"
    parts = [_text(t) for t in tree.subtrees]
    inside = ", ".join(parts)
    match kind.family:
        case "none":
            return "None"
        case "tuple":
            return f"({inside},)" if len(parts) == 1 else f"({inside})"
        case "list":
            return f"[{inside}]"
        case "dict":
            items = [f"{key!r}: {part}" for key, part in zip(tree.data, parts, strict=True)]
            return "{" + ", ".join(items) + "}"
        case "namedtuple":
            return f"CustomNode(namedtuple[{kind.type.__name__}], [{inside}])"
        case _:
            return f"CustomNode({kind.type.__name__}[{tree.data!s}], [{inside}])"


def _restore(node_data: tuple[Any, Any] | None, subtrees: tuple[PyTreeDef, ...]) -> PyTreeDef:
    return PyTreeDef.from_node_data_and_children(None, node_data, subtrees)


LEAF = start(PyTreeDef, KINDS, LEAF_TYPES, find_kind, refusals)
