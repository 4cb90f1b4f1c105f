"""Types of users' values say what must be defined, and hold states of mutable values."""

import pytest

from jitney.core.tracing.hi_types import (
    AvalQDD,
    HiType,
    MutableHiType,
    MutableQDD,
    aval_method,
    aval_property,
    cur_qdd,
    describe_tracers,
    is_high_value,
    is_mutable,
    register_hitype,
    with_state,
)
from jitney.core.types.avals import shaped_array

F32 = shaped_array((), "float32")


class PairType(HiType):
    def __eq__(self, other):
        return type(other) is PairType

    def __hash__(self):
        return hash(PairType)

    def to_tangent_aval(self):
        return F32


class BoxType(MutableHiType):
    def __eq__(self, other):
        return type(other) is BoxType

    def __hash__(self):
        return hash(BoxType)

    def lo_ty_qdd(self, state):
        return [F32] * state

    def read_loval(self, state, value):
        return value.items[:state]

    def new_from_loval(self, state, *values):
        return Box(*values)


class Pair:
    pass


class Box:
    def __init__(self, *items):
        self.items = [*items]

    def cur_qdd(self):
        return len(self.items)


@pytest.mark.parametrize(
    "method, args",
    [
        ("lo_ty", ()),
        ("lower_val", (1,)),
        ("raise_val", (1,)),
        ("vspace_zero", ()),
        ("dec_rank", (2, 0)),
        ("leading_axis_spec", ()),
    ],
)
def test_missing_methods_are_named(method, args):
    with pytest.raises(NotImplementedError, match=f"PairType must define the method {method}"):
        getattr(PairType(), method)(*args)
    with pytest.raises(NotImplementedError, match="HiType must define the method __hash__"):
        hash(HiType())


def test_cotangents_have_the_type_of_tangents_unless_defined():
    assert PairType().to_cotangent_aval() is F32
    with pytest.raises(TypeError, match="depend on their state: call lo_ty_qdd"):
        BoxType().lo_ty()


def test_types_with_states_lower_by_their_state():
    typed = AvalQDD(BoxType(), 2)
    assert typed.lo_ty() == [F32, F32]
    assert typed.lower_val(Box(5, 6, 7)) == [5, 6]
    assert typed.raise_val(1, 2).items == [1, 2]
    assert typed == AvalQDD(BoxType(), 2) != AvalQDD(BoxType(), 3)
    assert hash(typed) == hash(AvalQDD(BoxType(), 2))
    assert with_state(BoxType(), Box(1, 2)) == typed
    assert with_state(typed, Box()) is typed
    assert with_state(F32, Box()) is F32
    assert cur_qdd(Box(1)) == 1


def test_states_remember_the_initial_one():
    state = MutableQDD(1)
    state.update(2)
    assert (state.init_val, state.cur_val) == (1, 2)


def test_values_of_registered_classes_are_high():
    assert not is_high_value(Pair())
    register_hitype(Pair, lambda pair: PairType())
    register_hitype(Box, lambda box: BoxType())
    assert is_high_value(Pair())
    assert is_mutable(Box())
    assert not is_mutable(Pair())
    assert not is_high_value(2.0)


def test_members_of_tracers_are_declared_unless_the_type_has_them():
    class Kind(HiType):
        shape = (3,)

    describe_tracers(
        Kind,
        {"twice": lambda x: (x, x), "half": property(lambda x: x / 2), "shape": 1, "_own": 2},
    )
    assert isinstance(Kind.twice, aval_method)
    assert isinstance(Kind.half, aval_property)
    assert Kind.twice.of(3)() == (3, 3)
    assert Kind.half.of(3) == 1.5
    assert Kind.shape == (3,)
    assert not hasattr(Kind, "_own")
