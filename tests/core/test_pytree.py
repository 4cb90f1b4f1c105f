"""Pytrees against those of real jax: structures, paths, texts, errors."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import gc
import pickle
import sys
import time
import types
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.helpers.oracle import answer, jax, live
from tests.parity.facts import facts

from jitney import tree, tree_util
from jitney.core.pytree import pytrees


class Point(NamedTuple):
    x: Any
    y: Any


class Pair:
    """Registered without keys."""

    def __init__(self, *children: Any, aux: Any = ("aux", 1)) -> None:
        self.children = children
        self.aux = aux

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and (self.children, self.aux) == (other.children, other.aux)

    def __repr__(self) -> str:
        return f"Pair{self.children}"

    __hash__ = None


class Named:
    """Registered with keys."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and (self.a, self.b) == (other.a, other.b)

    def __repr__(self) -> str:
        return f"Named{self.a, self.b}"

    __hash__ = None


@dataclasses.dataclass
class Record:
    x: Any
    y: Any = dataclasses.field(default=3, metadata={"static": True})


class Constant:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant)

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "Constant()"


def register(library: Any) -> None:
    library.register_pytree_node(
        Pair, lambda p: (p.children, p.aux), lambda aux, xs: Pair(*xs, aux=aux)
    )
    library.register_pytree_with_keys(
        Named,
        lambda n: (((library.GetAttrKey("a"), n.a), (library.GetAttrKey("b"), n.b)), None),
        lambda _, xs: Named(*xs),
    )
    library.register_dataclass(Record)
    library.register_static(Constant)


register(tree_util)


@functools.cache
def theirs() -> Any:
    """Real `jax.tree_util`, which has the classes above, for functions that `answer` calls."""
    register(jax.tree_util)
    return jax.tree_util


def of_both(use: Callable[[Any], Any], *case: Any) -> tuple[Any, Any]:
    """What `use` returns of our `tree_util`, and of JAX's, as recorded."""
    return use(tree_util), answer(lambda: use(theirs()), *case)


TREES = [
    1, None, (), [], {}, (1,), (1, 2, None), [1, [2]], {"b": 1, "a": (2, None)}, {3: 1, 1: 2},
    collections.OrderedDict(b=1, a=2), collections.defaultdict(list, b=1, a=(2,)), Point(1, (2,)),
    Pair(1, 2), Named(1, [2]), Record(1), Record((1, None), 4), Constant(), collections.deque([1]),
    time.gmtime(0), Point((1,), Pair(2, Named(3, 4))), {"x": {}, "y": [(), None]}, {"it's": 1},
    [{"w": 1, "b": 2}, {"w": 3, "b": 4}], "text", np.float32(1), {1, 2}, {True: 1, False: 2},
]  # fmt: skip


@pytest.mark.parametrize("x", TREES, ids=repr)
def test_structure(x: Any) -> None:
    def found(t: Any) -> Any:
        leaves, structure = t.tree_flatten(x)
        return (
            repr(leaves), str(structure), structure.num_leaves, structure.num_nodes,
            repr(structure.node_data()), list(map(str, structure.children())),
            t.treedef_is_leaf(structure),
        )  # fmt: skip

    ours, wanted = of_both(found)
    assert ours == wanted
    leaves, structure = tree.flatten(x)
    assert structure.unflatten(leaves) == x
    assert structure.flatten_up_to(x) == leaves


@pytest.mark.parametrize("x", TREES, ids=repr)
def test_structure_is_a_value(x: Any) -> None:
    structure = tree.structure(x)
    for other in (
        tree.structure(x),
        pickle.loads(pickle.dumps(structure)),
        copy.deepcopy(structure),
        pytrees.tree_flatten_with_path(x)[1],
        tree.structure(x, is_leaf=lambda _: False),
    ):
        assert structure == other
        assert hash(structure) == hash(other)
    assert structure != tree.structure((x, x))
    assert {structure: 1}[tree.structure(x)] == 1


def test_structures_differ() -> None:
    def equal(t: Any) -> list[list[bool]]:
        structures = [t.tree_structure(x) for x in TREES]
        return [[a == b for b in structures] for a in structures]

    ours, wanted = of_both(equal)
    assert ours == wanted


def test_dictionaries_of_other_keys_are_not_mixed_up() -> None:
    assert list(tree.map(lambda x: x, {1: 1})) == [1]
    assert type(next(iter(tree.map(lambda x: x, {True: 1})))) is bool
    assert type(next(iter(tree.map(lambda x: x, {1: 1})))) is int


@pytest.mark.parametrize("x", TREES, ids=repr)
def test_paths(x: Any) -> None:
    def found(t: Any) -> Any:
        return [
            (repr(leaf), repr(path), t.keystr(path), t.keystr(path, simple=True, separator="/"))
            for path, leaf in t.tree_leaves_with_path(x)
        ]

    ours, wanted = of_both(found)
    assert ours == wanted
    for path, _ in tree.leaves_with_path(x):
        assert hash(path) == hash(tuple(path))


NODES = st.recursive(
    st.one_of(st.integers(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.sampled_from("abcde"), inner, max_size=4),
        st.dictionaries(st.integers(0, 9), inner, max_size=4),
        st.tuples(inner, inner).map(lambda p: Point(*p)),
        st.lists(inner, max_size=3).map(lambda xs: Pair(*xs)),
    ),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(NODES, NODES)
def test_random_trees(x: Any, y: Any) -> None:
    leaves, structure = tree.flatten(x)
    assert structure.unflatten(leaves) == x
    assert pickle.loads(pickle.dumps(structure)) == structure
    inner = tree.structure(y)
    composed = structure.compose(inner)
    assert composed == tree.structure(structure.unflatten([y] * len(leaves)))
    assert hash(composed) == hash(tree.structure(structure.unflatten([y] * len(leaves))))


@pytest.mark.live
@settings(max_examples=60, deadline=None)
@given(NODES, NODES)
def test_random_trees_as_in_jax(x: Any, y: Any) -> None:
    def found(t: Any) -> tuple[list[str], bool]:
        structures = [t.tree_structure(x), t.tree_structure(y)]
        flat = [f"{t.tree_leaves(z)} {s}" for z, s in zip((x, y), structures, strict=True)]
        return flat, structures[0] == structures[1]

    assert found(tree_util) == live(lambda: found(theirs()))


MISMATCHES = [
    ((1, 2), (1, 2, 3)), ((1, 2), [1, 2]), ((1, 2), 5), ([1, 2], [1]), ({"a": 1}, {"b": 1}),
    ({"a": 1}, {"a": 1, "b": 2}), ({"a": 1}, (1,)), ({"a": 1}, collections.OrderedDict(a=1)),
    (collections.OrderedDict(a=1), collections.OrderedDict(b=1)), (Point(1, 2), (1, 2)),
    (collections.defaultdict(int, a=1), collections.defaultdict(list, a=1)), (Pair(1), Named(1, 2)),
    (Pair(1, 2), Pair(1, 2, 3)), (Pair(1), Pair(1, aux=2)), (Record(1, 2), Record(1, 3)),
    (None, 3), ((1, None), (1, 3)), ([(1,), (2,)], [(1,), [2]]), ({"a": [1]}, {"a": 2}),
]  # fmt: skip


def error_of(fun: Any, *args: Any) -> Exception:
    with pytest.raises(Exception) as caught:
        fun(*args)
    return caught.value


def place_of(error: Exception) -> str:
    """The path that our message begins with: "pytree structure error at tree_map tree['a']: ..."."""
    return str(error).splitlines()[0].removeprefix("pytree structure error at ").partition(": ")[0]


def their_place_of(error: Exception) -> str:
    """The path in the second line of JAX's message."""
    return str(error).splitlines()[1].strip()


@pytest.mark.parametrize(
    ("p", "g", "rows"),
    [
        ([1, [2]], [1, [2, 3]], ["p[1]  list of 1 element", "g[1]  list of 2 elements"]),
        ({"a": (1,)}, {"a": [1]}, ["p['a']  tuple", "g['a']  list"]),
        ({"a": (1,)}, {"a": None}, ["p['a']  tuple", "g['a']  None"]),
        ({"a": (1,)}, {"a": 2.0}, ["p['a']  tuple", "g['a']  leaf of type float"]),
        (
            {"a": 1},
            {"b": 1, "a": 1},
            ["p  dict of ['a'], without ['b']", "g  dict of ['a'], ['b']"],
        ),
    ],
)
def test_mapped_trees_are_called_what_the_user_calls_them(p: Any, g: Any, rows: list[str]) -> None:
    def both(x: Any, y: Any) -> Any:
        return x, y

    with pytest.raises(ValueError, match="pytree structure error at p") as caught:
        tree.map(both, p, g)
    assert [line.strip() for line in str(caught.value).splitlines()[1:]] == rows
    with pytest.raises(ValueError, match="pytree structure error at p") as caught:
        tree.map_with_path(lambda _, x, *rest: both(x, rest), p, p, g)
    assert [line.strip() for line in str(caught.value).splitlines()[1:]] == rows


def test_mapped_trees_of_one_list_are_called_by_their_places() -> None:
    trees, first = [{"a": (1,)}, {"a": [1]}], {"a": {}}
    for call, names in (
        (lambda: tree.map(max, *trees), ("trees[0]", "trees[1]")),
        (lambda: tree.map(max, first, *trees), ("first", "trees[0]")),
        (lambda: tree.map(max, *trees, first), ("tree_map tree", "rest[0]")),
        (lambda: tree.map(max, *trees[::-1]), ("tree_map tree", "rest[0]")),
    ):
        with pytest.raises(ValueError, match="pytree structure error") as caught:
            call()
        rows = str(caught.value).splitlines()[1:]
        assert [row.split("['a']")[0].strip() for row in rows] == [*names]


@pytest.mark.parametrize(("a", "b"), MISMATCHES, ids=repr)
def test_mismatch(a: Any, b: Any) -> None:
    def first(x: Any, _: Any) -> Any:
        return x

    calls = [("tree_map", (first, a, b)), ("tree_broadcast", (a, b))]

    def wanted() -> list[tuple[str, str]]:
        errors = [error_of(getattr(theirs(), name), *args) for name, args in calls]
        return [(type(error).__name__, their_place_of(error)) for error in errors]

    errors = [error_of(getattr(tree_util, name), *args) for name, args in calls]
    assert [(type(e).__name__, place_of(e)) for e in errors] == answer(wanted)
    assert type(error_of(tree.structure(a).flatten_up_to, b)) is ValueError
    differences = list(pytrees.equality_errors(a, b))
    assert differences
    assert all([len(d) == 4 for d in differences])


@dataclasses.dataclass
class WithoutArgument:
    """With a field that the constructor does not take, whose value would be lost."""

    x: int
    z: int = dataclasses.field(default=42, init=False)


def test_fields_that_are_dropped() -> None:
    @dataclasses.dataclass
    class Dropping(WithoutArgument):
        pass

    tree_util.register_dataclass(Dropping, drop_fields="z")
    assert tree_util.tree_map(lambda x: x + 1, Dropping(1)) == Dropping(2)


ERRORS = [
    lambda t: t.tree_unflatten(t.tree_structure((1, 2)), [1]),
    lambda t: t.tree_unflatten(t.tree_structure((1, 2)), [1, 2, 3]),
    lambda t: t.tree_unflatten(t.tree_structure(1), []),
    lambda t: t.tree_leaves([1], lambda x: 3),
    lambda t: t.tree_leaves_with_path([1], lambda x: 3),
    lambda t: t.tree_reduce(lambda a, b: a + b, []),
    lambda t: t.tree_reduce_associative(lambda a, b: a + b, []),
    lambda t: t.tree_transpose(t.tree_structure([0, 0]), None, [(1, 2, 3), (4, 5)]),
    lambda t: t.register_pytree_node(Pair, lambda x: x, lambda x: x),
    lambda t: t.register_pytree_node(tuple, lambda x: x, lambda x: x),
    lambda t: t.register_dataclass(Record),
    lambda t: t.register_dataclass(type("NoDataclass", (), {})),
    lambda t: t.register_dataclass(Record, ["x"]),
    lambda t: t.register_dataclass(Record, ["x"], []),
    lambda t: t.register_dataclass(Record, ["x", "z"], ["y"]),
    lambda t: t.register_dataclass(Record, ["x"], ["y", "x"]),
    lambda t: t.register_dataclass(WithoutArgument),
    lambda t: t.flatten_one_level(1),
]


@pytest.mark.parametrize("call", ERRORS)
def test_errors(call: Any) -> None:
    def told() -> tuple[str, list[str]]:
        error = error_of(call, theirs())
        return type(error).__name__, sorted(facts(str(error)))

    ours = error_of(call, tree_util)
    kind, told_by_jax = answer(told)
    assert type(ours).__name__ == kind
    # "can't" and a quote later in JAX's sentence enclose what is no fact
    assert not [fact for fact in told_by_jax if fact not in str(ours) and fact[:2] != "t "]


@pytest.mark.parametrize("result", [3, (3, 4), (1, 2, 3), [(3, 4), None]])
def test_wrong_flatten_function(result: Any) -> None:
    def found(t: Any) -> tuple[str, int]:
        class Wrong:
            pass

        t.register_pytree_node(Wrong, lambda _: result, lambda _, xs: xs)
        error = error_of(t.tree_leaves, Wrong())
        # The message is the same: its checksum.
        return type(error).__name__, zlib.crc32(str(error).encode())

    ours, wanted = of_both(found)
    assert ours == wanted


def test_unsortable_keys() -> None:
    with pytest.raises(ValueError, match="sorting pytree dictionary keys"):
        tree.leaves({1: 2, "a": 3})
    assert tree.leaves(collections.OrderedDict([(1, 2), ("a", 3)])) == [2, 3]


CALLS = [
    lambda t: t.tree_map(lambda *xs: xs, [1, 2], [3, 4], [(5,), 6]),
    lambda t: t.tree_map(lambda x: x, {"b": 1, "a": 2}),
    lambda t: t.tree_map(
        lambda x, y: (x, y), [1, (2,)], [3, 4], is_leaf=lambda x: type(x) is tuple
    ),
    lambda t: t.tree_map(lambda x, y: x, 1, None),
    lambda t: t.tree_map_with_path(lambda p, x, y: (t.keystr(p), x, y), {"a": [1]}, {"a": [2]}),
    lambda t: t.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]),
    lambda t: str(t.tree_flatten_with_path([1, (2,)], lambda p, x: len(p) == 1, True)),
    lambda t: t.tree_reduce(lambda a, b: f"({a}{b})", list("abcdefg")),
    lambda t: t.tree_reduce(lambda a, b: a + b, [1, (2,)], 10),
    lambda t: t.tree_reduce_associative(lambda a, b: f"({a}{b})", list("abcdefg")),
    lambda t: t.tree_reduce_associative(lambda a, b: a + b, [], identity=7),
    lambda t: t.tree_all([True, 1, np.array(0)]),
    lambda t: t.tree_broadcast((1, 2), ([3, 4], {"a": 5})),
    lambda t: t.tree_broadcast((1, None), (1, 2), is_leaf=lambda x: x is None),
    lambda t: t.all_leaves([1, None]),
    lambda t: t.all_leaves([1, (2,)], is_leaf=lambda x: isinstance(x, tuple)),
    lambda t: t.tree_transpose(t.tree_structure([0, 0]), None, [(1, 2, 3), (4, 5, 6)]),
    lambda t: t.tree_transpose(t.tree_structure({"a": 0}), t.tree_structure((0, 0)), {"a": (1, 2)}),
    lambda t: str(t.treedef_tuple([t.tree_structure([1]), t.tree_structure(None)])),
    lambda t: str(t.treedef_children(t.tree_structure(([1], 2)))),
    lambda t: str(t.tree_structure((1, 2)).compose(t.tree_structure([None, 1]))),
    lambda t: t.tree_structure({"a": 1, "b": [2]}).walk(lambda a, b: (a, b), str, [1, 2]),
    lambda t: t.tree_structure((1, [2])).from_iterable_tree((5, (6,))),
    lambda t: [t.is_tree_node(x) for x in (tuple, int, Point, Pair, type(None))],
    lambda t: t.keystr((1, "a"), simple=True, separator="."),
    lambda t: t.flatten_one_level({"b": 1, "a": 2}),
    lambda t: str(list(t.flatten_one_level_with_keys({"b": 1, "a": 2})[0])),
    lambda t: str(t.default_registry.flatten_one_level(1)),
    # Python 3.13 names the module of the class, too.
    lambda t: str(t.Partial(print, 1, a=2)).removeprefix("jax.tree_util."),
    lambda t: str(t.tree_structure(t.Partial(print, 1, a=2))),
    lambda t: str(t.tree_structure(t.Partial(functools.partial(print, 1), 2))),
    lambda t: t.tree_map(lambda x: x + 1, t.Partial(lambda *a, **k: (a, k), 1, b=2))(5, c=6),
    lambda t: t.Partial(t.Partial(lambda *a: a, 1), 2)(3),
]


@pytest.mark.parametrize("call", CALLS)
def test_same_result(call: Any) -> None:
    ours, wanted = of_both(call)
    assert ours == wanted


def test_dataclass_decorator_and_drop_fields() -> None:
    def result(library: Any) -> tuple[Any, int, int]:
        @dataclasses.dataclass
        class Dropping:
            x: Any
            y: int = 1
            z: int = 2

        library.register_dataclass(Dropping, ["x"], ["y"], drop_fields=["z"])
        out = library.tree_map(lambda x: x + 1, Dropping(1, 5, 6))
        return out.x, out.y, out.z

    ours, wanted = of_both(result)
    assert ours == wanted == (2, 5, 2)


def test_static_field() -> None:
    assert tree.static(default=1).metadata == {"static": True}


def test_registration_after_use_as_leaf() -> None:
    class Late:
        def __init__(self, x: Any) -> None:
            self.x = x

    assert tree.leaves((Late(1), 2))[1] == 2
    tree_util.register_pytree_node(Late, lambda v: ((v.x,), None), lambda _, xs: Late(*xs))
    assert tree.leaves((Late(1), 2)) == [1, 2]


def test_unhashable_static_data() -> None:
    a, b = tree.structure(Pair(1, aux=[1])), tree.structure(Pair(1, aux=[2]))
    assert a == tree.structure(Pair(1, aux=[1]))
    assert a != b
    assert hash(a) == hash(tree.structure(Pair(1, aux=[1])))


def test_public_names() -> None:
    for ours, name in ((tree_util, "tree_util"), (tree, "tree")):
        assert [n for n in names_of_jax(name) if not hasattr(ours, n)] == []


def names_of_jax(module: str) -> list[str]:
    def names() -> list[str]:
        found = vars(sys.modules[getattr(jax, module).__name__])
        return sorted(n for n, v in found.items() if not _is_private(n, v))

    return answer(names)


def _is_private(name: str, value: Any) -> bool:
    return name.startswith("_") or isinstance(value, types.ModuleType)


def test_transposing_containers_that_hide_the_structure_of_their_leaves():
    from jitney import tree_util

    class Flat:
        """Flattens all the way down at once."""

        def __init__(self, leaves, tree):
            self.leaves, self.tree = leaves, tree

    def of(x):
        return Flat(*tree_util.tree_flatten(x))

    tree_util.register_pytree_node(
        Flat, lambda f: (f.leaves, f.tree), lambda tree, leaves: Flat(list(leaves), tree)
    )
    outer = tree_util.tree_structure(of({"a": 1, "b": 2}))
    found = tree_util.tree_transpose(
        outer, tree_util.tree_structure([1, 2]), of({"a": [3, 4], "b": [5, 6]})
    )
    assert [f.leaves for f in found] == [[3, 5], [4, 6]]


def test_structures_as_protocol_buffers():
    """The same bytes as JAX's, and back."""
    for x in (
        1, None, (), [], {}, [1, {"a": 2, "b": None}, (3,)], {"b": {"a": 1}, "": 2}, [[], ((),)],
        {str(i): 0 for i in range(140)},
    ):  # fmt: skip
        structure = tree_util.tree_structure(x)
        data = structure.serialize_using_proto()
        assert data == answer(lambda: jax.tree.structure(x).serialize_using_proto())  # noqa: B023
        assert type(structure).deserialize_using_proto(None, data) == structure
    for x in ({1: 1}, collections.OrderedDict(a=1)):
        with pytest.raises(ValueError, match="serialize_using_proto"):
            tree_util.tree_structure(x).serialize_using_proto()
    for data in (b"xx", b"\x0a\x02", b"\x0a\x04\x08\x02\x10\x04", b"", b"\x0a\x02\x10\x07"):
        with pytest.raises(ValueError, match=r"deserialize_using_proto|protocol buffer"):
            type(structure).deserialize_using_proto(None, data)


def test_static_fields_that_cannot_be_compared():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Holder:
        x: Any = dataclasses.field(metadata={"static": True})

    a, b = (tree_util.tree_structure(Holder(np.arange(4))) for _ in range(2))
    with pytest.raises(ValueError, match=r"equality of metadata fields of pytree Holder: .*ambig"):
        _ = a == b


def test_kinds_of_keys_have_different_hashes():
    assert hash(tree_util.FlattenedIndexKey(1)) != hash(tree_util.SequenceKey(1))
    assert tree_util.FlattenedIndexKey(1) == tree_util.FlattenedIndexKey(1)
    assert len({tree_util.FlattenedIndexKey(1), tree_util.FlattenedIndexKey(1)}) == 1


def test_metadata_of_static_fields():
    assert tree.static().metadata == {"static": True}
    assert tree.static(metadata={"static": False, "a": 1}).metadata == {"static": False, "a": 1}


@contextlib.contextmanager
def _collecting_at(allocation: int, act: Callable[[], None]) -> Iterator[None]:
    """Collects garbage, which calls `act`, once, at that allocation from here on."""
    acts = [act]

    def called(phase: str, info: Any) -> None:
        if phase == "start" and acts:
            acts.pop()()

    gc.collect()
    thresholds = gc.get_threshold()
    gc.callbacks.append(called)
    gc.set_threshold(allocation, 1000, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(called)


_ALLOCATIONS = range(1, 13)  # more than flattening a dictionary makes


def test_dictionary_flattened_while_structures_are_dropped() -> None:
    """Collecting garbage may run code, and that may have more structures than are kept."""

    def fill() -> None:
        for i in range(4200):
            tree_util.tree_structure({f"other {allocation} {i}": 1})

    for allocation in _ALLOCATIONS:
        x = {f"{allocation} {i:02d}": 1.0 for i in range(40)}
        tree_util.tree_structure(x)
        with _collecting_at(allocation, fill):
            leaves, structure = tree_util.tree_flatten(x)
        assert structure.unflatten(leaves) == x


def test_dictionary_changed_while_it_is_flattened() -> None:
    """Each value stays with its key, whatever a collection of garbage does to the dictionary."""

    def replace(x: dict[str, int]) -> None:
        x["99"] = x.pop(next(iter(x)))

    def remove(x: dict[str, int]) -> None:
        for key in list(x)[1:]:
            del x[key]

    def add(x: dict[str, int]) -> None:
        x.update({str(i): i for i in range(50, 60)})

    keys = [str(i) for i in range(10, 50)]  # the same objects: those are fast
    for change in (replace, remove, add):
        for allocation in _ALLOCATIONS:
            x = {key: int(key) for key in keys}
            before = dict(x)
            tree_util.tree_structure(x)
            with _collecting_at(allocation, functools.partial(change, x)):
                leaves, structure = tree_util.tree_flatten(x)
            assert structure.unflatten(leaves) in (before, x)
