"""The containers of which pytrees consist, and the registration of user-defined ones.

A `Kind` defines how one level of a container is flattened to children and static data, and how it
is rebuilt. `KINDS` maps exact types to kinds; a type that is not in it is a leaf, unless it is a
named tuple, whose kind is created when the first instance is encountered (`find_kind`).
"""

from __future__ import annotations

import collections
import operator
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from jitney.core.pytree import refusals
from jitney.core.pytree._walks import checked_pair
from jitney.core.util.declarations import execution, is_repeated
from jitney.core.util.record import record
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from jitney.core.typing import PyTree

Typ = TypeVar("Typ", bound=type[Any])

# --- keys: one step of a path into a tree -------------------------------------------------------


@record(frozen=True)
class SequenceKey:
    """The key of position `idx` of a tuple or list."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@record(frozen=True)
class DictKey:
    """The key of entry `key` of a dictionary."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@record(frozen=True)
class GetAttrKey:
    """The key of attribute `name`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@record(frozen=True)
class FlattenedIndexKey:
    """The key of child number `key` of a container that does not name its children."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"

    def __hash__(self) -> int:
        return hash((FlattenedIndexKey, self.key))  # a `SequenceKey` of this number is another key


KeyPath = tuple[Any, ...]
Children = Sequence[Any]

# --- kinds --------------------------------------------------------------------------------------


@record(frozen=True, eq=False)
class Kind:
    """The flattening rules of one type of container; equal instances are identical.

    `flatten(x)` returns (children, data), and `unflatten(data, children)` is its inverse. The keys
    of the children are `keys(data, number of children)`, unless a user's `flatten_with_keys(x)`
    returns them, as ((key, child) pairs, data). `data_is_keys` states that the data are hashable
    keys: only then are they part of the hash of a tree structure. `given` is a user's unchecked
    function for `flatten`; traversals check its results themselves, which is faster than calling
    `flatten`.
    """

    type: Any
    flatten: Callable[[Any], tuple[Children, Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    keys: Callable[[Any, int], Sequence[Any]]
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None
    family: str = "custom"
    data_is_keys: bool = False
    given: Callable[[Any], Any] | None = None


def _sorted_keys(x: dict[Any, Any]) -> list[Hashable]:
    try:
        return sorted(x)
    except Exception as error:
        refusals.keys(x, error)


def _flatten_dict(x: dict[Any, Any]) -> tuple[Children, tuple[object, ...]]:
    keys = _sorted_keys(x)
    return tuple(map(x.__getitem__, keys)), tuple(keys)


def _flatten_defaultdict(
    x: collections.defaultdict[Any, Any],
) -> tuple[Children, tuple[object, ...]]:
    keys = sorted(x)
    return [x[k] for k in keys], (x.default_factory, tuple(keys))


def _unflatten_defaultdict(
    data: tuple[Callable[[], Any] | None, tuple[Any, ...]], children: tuple[Any, ...]
) -> collections.defaultdict[object, object]:
    factory, keys = data
    return collections.defaultdict(factory, zip(keys, children, strict=True))


def _unflatten_dict(keys: tuple[Any, ...], children: tuple[Any, ...]) -> dict[object, object]:
    return dict(zip(keys, children, strict=True))


def _unflatten_ordered(
    keys: tuple[Any, ...], children: tuple[Any, ...]
) -> collections.OrderedDict[object, object]:
    return collections.OrderedDict(zip(keys, children, strict=True))


def _positions(_: object, n: int) -> list[SequenceKey]:
    return [SequenceKey(i) for i in range(n)]


def _numbers(_: object, n: int) -> list[FlattenedIndexKey]:
    return [FlattenedIndexKey(i) for i in range(n)]


def _entries(keys: tuple[Any, ...], _: int) -> list[DictKey]:
    return [DictKey(key) for key in keys]


def _attributes(
    names: Sequence[str],
) -> Callable[[object, int], Sequence[GetAttrKey | SequenceKey]]:
    keys: list[Any] = [GetAttrKey(name) for name in names]

    # Oddly but legally, a named tuple can have more or fewer elements than its class has fields.
    def keys_of(data: object, n: int) -> Sequence[GetAttrKey | SequenceKey]:
        return keys if n == len(keys) else [*keys[:n], *_positions(data, n)[len(keys) :]]

    return keys_of


NONE_TYPE = type(None)

KINDS: dict[type, Kind] = {
    tuple: Kind(tuple, lambda x: (x, None), lambda _, xs: xs, _positions, family="tuple"),
    list: Kind(list, lambda x: (x, None), lambda _, xs: list(xs), _positions, family="list"),
    dict: Kind(dict, _flatten_dict, _unflatten_dict, _entries, family="dict", data_is_keys=True),
    NONE_TYPE: Kind(NONE_TYPE, lambda x: ((), None), lambda _, xs: None, _numbers, family="none"),
    collections.OrderedDict: Kind(
        collections.OrderedDict,
        lambda x: (list(x.values()), tuple(x)),
        _unflatten_ordered,
        _entries,
        data_is_keys=True,
    ),
    collections.defaultdict: Kind(
        collections.defaultdict,
        _flatten_defaultdict,
        _unflatten_defaultdict,
        lambda data, n: _entries(data[1], n),
    ),
}

# Types known to be leaves. The set only saves work, so it may be emptied at any time; its size is
# limited so as not to keep dynamically created classes alive for ever.
LEAF_TYPES: set[type] = {int, float, complex, bool, str}
_MAX_LEAF_TYPES = threshold(1024, small=32)


def find_kind(t: type[Any]) -> Kind | None:
    """Returns the kind of containers of type `t`; None if values of type `t` are leaves."""
    kind = KINDS.get(t)
    if kind is not None:
        return kind
    if _is_named_tuple(t):
        keys = _attributes(t._fields)
        kind = Kind(t, lambda x: (tuple(x), None), _make_named(t), keys, family="namedtuple")
        KINDS[t] = kind
        return kind
    if len(LEAF_TYPES) >= _MAX_LEAF_TYPES:
        LEAF_TYPES.clear()
    LEAF_TYPES.add(t)
    return None


def _is_named_tuple(t: type[Any]) -> bool:
    return tuple in t.__mro__ and hasattr(t, "_fields")


def _make_named(t: type[Any]) -> Callable[[object, tuple[object, ...]], object]:
    return lambda _, children: t(*children)


def is_tree_node(typ: type) -> bool:
    """Returns whether values of type `typ` are inner nodes of pytrees."""
    return find_kind(typ) is not None


# --- registering --------------------------------------------------------------------------------


# The specs of the modules that registered the types.
_executions: weakref.WeakKeyDictionary[type[Any], ModuleSpec | None] = weakref.WeakKeyDictionary()


def _register(kind: Kind, what: str = "PyTreeDef type") -> None:
    old = KINDS.get(kind.type)
    now = execution()
    # Named tuples need not be registered, but may be.
    is_taken = old is not None and old.family != "namedtuple"
    if is_taken and not is_repeated(_executions.get(kind.type), now):
        raise ValueError(f"Duplicate custom {what} registration for {kind.type!r}.")
    LEAF_TYPES.discard(kind.type)
    _executions[kind.type] = now
    KINDS[kind.type] = kind


def _checked(flatten: Callable[[Any], Any]) -> Callable[[Any], tuple[Children, object]]:
    """Returns `flatten` with a check that its results are (children, data)."""
    return lambda x: checked_pair(flatten(x))


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes instances of `nodetype` (not of its subclasses) inner nodes of pytrees.

    Args:
      nodetype: the class.
      flatten_func: x -> (children, static data); the data must support `==`.
      unflatten_func: (static data, children) -> x. Children may be any objects.
      flatten_with_keys_func: x -> ((key, child) pairs, static data), for paths.

    Raises:
      ValueError: if the class is registered already.
      TypeError: if an argument is of the wrong kind.
    """
    _check_arguments(nodetype, flatten_func, unflatten_func)
    flatten = _checked(flatten_func)
    _register(
        Kind(
            nodetype, flatten, unflatten_func, _numbers, flatten_with_keys_func, given=flatten_func
        )
    )


def _check_arguments(nodetype: object, flatten: object, unflatten: object) -> None:
    if not (isinstance(nodetype, type) and callable(flatten) and callable(unflatten)):
        raise TypeError(
            "register_pytree_node: expected a class and two functions, got "
            f"{nodetype!r}, {flatten!r}, {unflatten!r}"
        )


def register_pytree_node_class(cls: Typ) -> Typ:
    """Registers a class with methods `tree_flatten` and `tree_unflatten`; a decorator."""
    register_pytree_node(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Registers a class that names its children; otherwise like `register_pytree_node`.

    `flatten_with_keys` returns ((key, child) pairs, static data); the optional `flatten_func` is a
    faster way to get (children, static data).
    """

    def without_keys(x: PyTree) -> tuple[Children, object]:
        pairs, data = flatten_with_keys(x)
        return [child for _, child in pairs], data

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Typ) -> Typ:
    """Registers a class with `tree_flatten_with_keys` and `tree_unflatten`; a decorator."""
    plain = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls, operator.methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, plain
    )
    return cls


def register_dataclass(
    nodetype: Typ,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Typ:
    """Makes instances of a dataclass inner nodes of pytrees; also usable as a decorator.

    Args:
      nodetype: the class. Instances are rebuilt by calling it with the fields as keyword arguments.
      data_fields: the fields that are children. For a dataclass, `data_fields` and `meta_fields`
        may be omitted: fields with `metadata={"static": True}` are then static data, and all others
        are children.
      meta_fields: the fields that are static data; their values must support `==` and `hash`.
      drop_fields: fields that are neither; they get their default values.

    Raises:
      TypeError: if fields are omitted and cannot be inferred.
      ValueError: if a field is missing, unknown or named twice, or the class is registered already.
    """
    import dataclasses  # importing it costs as much as the rest of this module

    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None and meta_fields is None:
        if not is_dataclass:
            raise TypeError(
                f"register_dataclass: {nodetype!r} is not a dataclass, so its fields are unknown; "
                "pass both data_fields and meta_fields"
            )
        fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
    if data_fields is None or meta_fields is None:
        raise TypeError(
            f"register_dataclass: pass both {data_fields=} and {meta_fields=}, or, for a "
            "dataclass, neither"
        )
    data, meta = tuple(data_fields), tuple(meta_fields)
    if overlap := {*data} & {*meta}:
        raise ValueError(
            "register_dataclass: each field must be either data or metadata, but "
            f"{overlap} are in both data_fields and meta_fields"
        )
    if is_dataclass:
        needed = {f.name for f in dataclasses.fields(nodetype) if f.init}
        _check_fields(needed, {*data, *meta}, {*drop_fields})
    _register_fields(nodetype, data, meta)
    return nodetype


def _check_fields(needed: set[str], named: set[str], dropped: set[str]) -> None:
    must = (
        "register_dataclass: data_fields and meta_fields together must be the fields with init=True"
    )
    if missing := needed - named - dropped:
        raise ValueError(
            f"{must}, but {missing} are in neither; list fields to leave out in drop_fields"
        )
    if unexpected := named - needed:
        raise ValueError(
            f"{must}, but {unexpected} are not; list fields that are not passed to the "
            "constructor in drop_fields (their values are lost)"
        )


def _getter(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Returns the function that maps an object to the tuple of its attributes `names`."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    if not names:
        return lambda x: ()
    get = operator.attrgetter(names[0])
    return lambda x: (get(x),)


def _register_fields(nodetype: type[Any], data: tuple[str, ...], meta: tuple[str, ...]) -> None:
    get_data, get_meta = _getter(data), _getter(meta)

    def flatten(x: PyTree) -> tuple[Children, tuple[object, ...]]:
        return get_data(x), get_meta(x)

    def unflatten(static: tuple[Any, ...], children: tuple[Any, ...]) -> object:
        arguments = dict(zip(data, children, strict=True))
        arguments.update(zip(meta, static, strict=True))
        return nodetype(**arguments)

    _register(
        Kind(nodetype, flatten, unflatten, _attributes(data), family="dataclass"),
        "dataclass PyTreeDef type",
    )


def register_static(cls: Typ) -> Typ:
    """Registers a class of static data: nodes without children, compared by `==`; a decorator."""
    register_pytree_node(cls, lambda x: ((), x), lambda x, _: x)
    return cls


# --- one level ----------------------------------------------------------------------------------


def flatten_one_level(tree: object) -> tuple[Children, object]:
    """Returns (children, static data) of the outermost container.

    Raises:
      ValueError: if `tree` is a leaf.
    """
    kind = find_kind(type(tree))
    if kind is None:
        raise ValueError(
            f"flatten_one_level: {type(tree)} is not registered as a pytree, so it is a leaf"
        )
    if kind.family == "namedtuple":
        return list(cast("tuple[Any, ...]", tree)), type(tree)
    return kind.flatten(tree)


def flatten_one_level_with_keys(tree: object) -> tuple[list[tuple[object, object]], object]:
    """Returns ((key, child) pairs, static data) of the outermost container.

    Raises:
      ValueError: if `tree` is a leaf.
    """
    kind = find_kind(type(tree))
    if kind is None:
        raise ValueError(
            f"flatten_one_level_with_keys: {type(tree)} is not registered as a pytree, so it is a leaf"
        )
    if kind.flatten_with_keys is None:
        children, data = kind.flatten(tree)
        return list(zip(kind.keys(data, len(children)), children, strict=True)), data
    pairs, data = kind.flatten_with_keys(tree)
    try:
        return [(key, child) for key, child in pairs], data
    except TypeError:
        raise ValueError(
            "The to_iterable_with_keys function for a custom PyTree node should return a "
            f"(key_leaf_pairs, aux_data) tuple, got {pairs!r}"
        ) from None
