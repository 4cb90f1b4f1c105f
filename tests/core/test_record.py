"""Records behave as the standard library's dataclasses with slots."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from jitney.core.util.record import field, fields, record, replace


@record(frozen=True)
class Point:
    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


@record
class Bag:
    name: str
    items: list[int] = field(default_factory=list)


@record(frozen=True)
class Point3(Point):
    z: int = 3


@record(eq=False)
class Same:
    x: int


@record(frozen=True)
class Nothing:
    pass


@record
class Checked:
    x: int

    def __post_init__(self) -> None:
        self.x += 1


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    x: int
    y: int = 2


def test_construction_takes_positions_keywords_and_defaults():
    assert (Point(1).x, Point(1).y, Point(1).total) == (1, 2, 3)
    assert Point(y=5, x=4) == Point(4, 5)
    assert Point3(1, z=9) == Point3(1, 2, 9) and fields(Point3) == ("x", "y", "z")
    assert Checked(1).x == 2
    first, second = Bag("a"), Bag("a")
    first.items.append(1)
    assert second.items == [] and Bag("a", [3]).items == [3]


@pytest.mark.parametrize("wrong", [(), (1, 2, 3)])
def test_wrong_arguments_are_named_as_by_any_function(wrong):
    with pytest.raises(TypeError) as expected:
        Standard(*wrong)
    for _ in range(2):  # the constructor is written by the first call
        with pytest.raises(TypeError) as got:
            Point(*wrong)
        assert str(got.value) == str(expected.value).replace("Standard", "Point")


def test_equality_and_hashes():
    assert Point(1) == Point(1, 2) and Point(1) != Point(2) and Point(1) != (1, 2)
    assert Point(1) != Point3(1) and hash(Point(1)) == hash(Point(1))
    assert Same(1) != Same(1) and hash(Same(1)) is not None
    assert Nothing() == Nothing() and hash(Nothing()) == hash(Nothing())
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag("a"))


def test_frozen_records_cannot_be_changed():
    point: Any = Point(1)
    with pytest.raises(AttributeError, match="cannot change field 'x' of the frozen Point"):
        point.x = 3
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    assert not hasattr(point, "__dict__")
    assert replace(Point3(1), y=7) == Point3(1, 7)


@pytest.mark.parametrize("x", [Point(1), Point3(4, 5), Bag("a", [1]), Nothing()])
def test_copies_and_pickles(x):
    assert copy.copy(x) == x and copy.deepcopy(x) == x and pickle.loads(pickle.dumps(x)) == x


def test_text_and_matching():
    assert repr(Point3(1)) == "Point3(x=1, y=2, z=3)"
    match Point(1, 8):
        case Point(a, b):
            assert (a, b) == (1, 8)


def test_records_with_many_fields():
    names = [f"f{i}" for i in range(100)]
    annotations = {"first": int, **dict.fromkeys(names, int), "items": list[int]}
    space = {"__annotations__": annotations, **dict.fromkeys(names, 7)}
    Large: Any = record(frozen=True)(
        type("Large", (), {**space, "items": field(default_factory=list)})
    )
    x, y = Large(1, f99=8), Large(first=1)
    assert (x.first, x.f0, x.f99, y.f99) == (1, 7, 8, 7)
    assert x.items == [] and x.items is not y.items
    assert replace(x, f99=7) == y != x
    for args, kwargs in [((), {}), ((1,), {"first": 2}), ((1,), {"other": 2}), ((0,) * 200, {})]:
        with pytest.raises(TypeError, match="needs each of its fields once"):
            Large(*args, **kwargs)
