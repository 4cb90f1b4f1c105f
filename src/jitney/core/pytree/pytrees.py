"""Pytrees: nested containers of arrays.

A pytree is a leaf or a container of pytrees. Containers are tuples, lists, dictionaries (children
in the order of the sorted keys), named tuples, None (a container without children) and registered
classes. This module is the interface for the rest of the package; `registry` defines containers,
`treedef` structures, and `paths` paths.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from jitney.core.pytree.errors import (
    equality_errors as equality_errors,
    equality_errors_pytreedef as equality_errors_pytreedef,
    prefix_errors as prefix_errors,
)
from jitney.core.pytree.paths import (
    PathIsLeaf,
    generate_key_paths as generate_key_paths,
    keystr as keystr,
    tree_flatten_with_path as tree_flatten_with_path,
    tree_leaves_with_path as tree_leaves_with_path,
)
from jitney.core.pytree.registry import (
    KINDS,
    DictKey as DictKey,
    FlattenedIndexKey as FlattenedIndexKey,
    GetAttrKey as GetAttrKey,
    KeyPath as KeyPath,
    SequenceKey as SequenceKey,
    find_kind,
    flatten_one_level as flatten_one_level,
    flatten_one_level_with_keys as flatten_one_level_with_keys,
    is_tree_node as is_tree_node,
    register_dataclass as register_dataclass,
    register_pytree_node as register_pytree_node,
    register_pytree_node_class as register_pytree_node_class,
    register_pytree_with_keys as register_pytree_with_keys,
    register_pytree_with_keys_class as register_pytree_with_keys_class,
    register_static as register_static,
)
from jitney.core.pytree.treedef import (
    LEAF as LEAF,
    IsLeaf,
    PyTreeDef as PyTreeDef,
    flatten,
    flatten_until,
    make_node,
)

if TYPE_CHECKING:
    from typing import TypeGuard

    from jitney.core.typing import PyTree


class Unspecified:
    """The type of the default of arguments for which None is meaningful."""

    def __repr__(self) -> str:
        return "<unspecified>"


_UNSPECIFIED = Unspecified()


# --- taking apart and putting together ----------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Returns (leaves, structure); `is_leaf` selects nodes that are treated as leaves."""
    return flatten(tree) if is_leaf is None else flatten_until(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Builds the tree of structure `treedef` with `leaves`.

    Raises:
      ValueError: if there are too few or too many leaves.
    """
    return treedef.unflatten(leaves)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Returns the leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Returns the structure."""
    return tree_flatten(tree, is_leaf)[1]


def count_leaves(tree: PyTree) -> int:
    """Returns the number of leaves."""
    return len(flatten(tree)[0])


def all_leaves(iterable: Iterable[object], is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether all elements are leaves."""
    if is_leaf is None:
        return all([not is_tree_node(type(x)) for x in iterable])
    values = list(iterable)
    leaves = tree_leaves(values, is_leaf=is_leaf)
    return len(values) == len(leaves) and all([x is y for x, y in zip(values, leaves, strict=True)])


# --- mapping ------------------------------------------------------------------------------------


def tree_map(
    f: Callable[..., Any], tree: PyTree, *rest: PyTree, is_leaf: IsLeaf | None = None
) -> Any:
    """Applies `f` to each leaf of `tree` and to the subtrees at its position in the other trees.

    Args:
      f: a function of as many arguments as there are trees.
      tree: the tree that determines the structure of the result.
      rest: trees of which `tree` is a prefix.
      is_leaf: a predicate for nodes of `tree` to be treated as leaves.

    Raises:
      ValueError: if `tree` is not a prefix of all other trees.
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten(map(f, leaves))
    columns = [
        _parts(treedef, tree, other, is_leaf, "tree_map tree", k) for k, other in enumerate(rest)
    ]
    return treedef.unflatten(map(f, leaves, *columns))


def _parts(
    treedef: PyTreeDef,
    tree: PyTree,
    other: PyTree,
    is_leaf: PathIsLeaf | None,
    name: str,
    number: int | None = None,
) -> list[object]:
    """Returns the subtrees of `other` at the leaves of `tree`.

    Args:
      treedef: the structure of `tree`.
      tree: a prefix of `other`.
      other: a tree.
      is_leaf: as in `tree_map`.
      name: the name of `tree` in messages, if the source is not available.
      number: the index of `other` in the `rest` of `tree_map`; None in other functions.
    """
    try:
        return treedef.flatten_up_to(other)
    except ValueError:
        errors = prefix_errors(tree, other, is_leaf)
        if not errors:
            raise
        if number is None:
            raise errors[0](name) from None
        from jitney.core.messages import cures  # needed for errors only

        written = cures.mapped_trees(number)
        raise (errors[0](*written) if written else errors[0](name, f"rest[{number}]")) from None


def tree_map_with_path(
    f: Callable[..., Any],
    tree: PyTree,
    *rest: PyTree,
    is_leaf: PathIsLeaf | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Applies `f(path, leaf, ...)` to each leaf; otherwise like `tree_map`."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    shown = None if is_leaf_takes_path else is_leaf
    columns = [
        _parts(treedef, tree, t, shown, "tree_map_with_path tree", k) for k, t in enumerate(rest)
    ]
    paths, leaves = [p for p, _ in pairs], [x for _, x in pairs]
    return treedef.unflatten(map(f, paths, leaves, *columns))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: PyTree,
    initializer: object = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Reduces the leaves with `functools.reduce`, from the left."""
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _UNSPECIFIED:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: PyTree,
    *,
    identity: object = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Reduces the leaves by an associative operation, in a balanced order.

    Raises:
      TypeError: if there are no leaves and no identity.
    """
    leaves = tree_leaves(tree, is_leaf)
    if not leaves:
        if identity is _UNSPECIFIED:
            raise TypeError(
                "tree_reduce_associative: a tree without leaves has no result unless `identity` is "
                "given"
            )
        return identity

    def join(start: int, end: int) -> Any:
        if end - start == 1:
            return leaves[start]
        middle = (start + end) // 2
        return operation(join(start, middle), join(middle, end))

    return join(0, len(leaves))


def tree_all(tree: PyTree, *, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


# --- structures ---------------------------------------------------------------------------------


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Returns whether a structure has one node: a leaf or an empty container."""
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Returns the structures of the children."""
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Returns the structure of a tuple of trees of structures `treedefs`."""
    return make_node(KINDS[tuple], None, tuple(treedefs))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: PyTree
) -> Any:
    """Transposes a tree of trees.

    Args:
      outer_treedef: the structure of the outer tree.
      inner_treedef: the structure of the trees at its leaves; if None, that of the first such tree.
      pytree_to_transpose: a tree of structure `outer_treedef.compose(inner_treedef)`.

    Raises:
      TypeError: if `pytree_to_transpose` has another structure.
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    inner, outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    # Containers may not expose the structure of their leaves, so only the leaves are counted.
    if len(leaves) != inner * outer:
        expected = outer_treedef.compose(inner_treedef)
        raise TypeError(f"Mismatch\n{treedef}\n != \n{expected}")
    columns = [
        outer_treedef.unflatten([leaves[i * inner + j] for i in range(outer)]) for j in range(inner)
    ]
    return inner_treedef.unflatten(columns)


def broadcast_prefix(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[Any]:
    """Returns each leaf of `prefix_tree`, repeated for the leaves below it in `full_tree`.

    Raises:
      ValueError: if `prefix_tree` is not a prefix of `full_tree`.
    """
    leaves, treedef = tree_flatten(prefix_tree, is_leaf)
    parts = _parts(treedef, prefix_tree, full_tree, is_leaf, "broadcast_prefix prefix_tree")
    out: list[Any] = []
    for leaf, part in zip(leaves, parts, strict=True):
        out += [leaf] * len(tree_leaves(part, is_leaf))
    return out


def broadcast_axes(axes: PyTree, full_tree: PyTree) -> list[Any]:
    """Returns `broadcast_prefix(axes, full_tree)`, with None as a leaf in `axes` only.

    Raises:
      ValueError: if `axes` is not a prefix of `full_tree`.
    """
    none = object()

    def marked(axis: Any) -> object:
        return none if axis is None else axis

    prefix = tree_map(marked, axes, is_leaf=lambda x: x is None)
    return [None if x is none else x for x in broadcast_prefix(prefix, full_tree)]


def tree_broadcast(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> Any:
    """Returns a tree with the structure of `full_tree` and the leaves of `prefix_tree`.

    Each leaf of `prefix_tree` is repeated for all leaves below it in `full_tree`.

    Raises:
      ValueError: if `prefix_tree` is not a prefix of `full_tree`.
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree, is_leaf).unflatten(leaves)


# --- partial application ------------------------------------------------------------------------


class _Shim:
    """An opaque wrapper of a partial application, which keeps its parts and compares by identity.

    A `Partial` of a partial wraps the latter in a shim: if `functools.partial` merged the two, the
    inner arguments would become children, but they have to remain static data.
    """

    def __init__(self, fun: functools.partial[Any]) -> None:
        self.fun = fun
        self.func: Callable[..., Any] = fun.func
        self.args = fun.args
        self.keywords = fun.keywords

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> object:
        return self.fun(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __eq__(self, other: object) -> bool:
        return self.fun == (other.fun if isinstance(other, _Shim) else other)

    def __repr__(self) -> str:
        return f"_HashableCallableShim({self.fun!r})"


def _is_partial(x: object) -> TypeGuard[functools.partial[object]]:
    return isinstance(x, functools.partial)


class Partial(functools.partial[Any]):
    """`functools.partial` as a pytree: the arguments are children, the function is static data.

    Instances can be passed to jitted functions and returned from them.
    """

    __slots__ = ()

    def __new__(cls, func: Callable[..., Any], *args: PyTree, **kw: PyTree) -> Self:
        if _is_partial(func):
            inner: Callable[..., Any] = func.func
            out = super().__new__(cls, _Shim(func), *args, **kw)
            for name in ("__module__", "__name__", "__qualname__", "__doc__"):
                if hasattr(inner, name):
                    setattr(out.func, name, getattr(inner, name))
            return out
        return super().__new__(cls, func, *args, **kw)


Partial.__module__ = "jax.tree_util"

register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


# --- the registry as an object ------------------------------------------------------------------


class PyTreeRegistry:
    """The registry of containers, a singleton; libraries flatten one level of a tree with it."""

    flatten = staticmethod(tree_flatten)
    flatten_with_path = staticmethod(tree_flatten_with_path)
    register_node = staticmethod(register_pytree_node)
    register_dataclass_node = staticmethod(register_dataclass)

    @staticmethod
    def is_node(x: object) -> bool:
        """Returns whether `x` is a container."""
        return find_kind(type(x)) is not None

    @staticmethod
    def flatten_one_level(tree: object) -> tuple[Iterable[object], object] | None:
        """Returns (children, static data) of the outermost container; None for a leaf."""
        return flatten_one_level(tree) if find_kind(type(tree)) else None

    @staticmethod
    def flatten_one_level_with_keys(tree: object) -> tuple[Iterable[object], object] | None:
        """Returns ((key, child) pairs, static data) of the outermost container; None for a leaf."""
        return flatten_one_level_with_keys(tree) if find_kind(type(tree)) else None


default_registry = PyTreeRegistry()
