"""Primitives hold one rule for each slot, and memoize the types of their results."""

import numpy as np
import pytest

from jitney.core.tracing.primitive import Primitive, declare_slot, slots
from jitney.core.types.avals import shaped_array
from jitney.core.types.effects import GenericEffect

F32 = shaped_array((3,), np.dtype(np.float32))


def test_slots_are_filled_once():
    p = Primitive("test_p")
    rule = p.jvp(lambda primals, tangents: None)
    assert slots["jvp"].rule_of(p) is rule
    assert rule.__code__.co_name == "test_p.jvp"
    with pytest.raises(ValueError, match="test_p already has a rule for jvp"):
        p.set_rule("jvp", rule)
    other = p.replace_rule("jvp", lambda *_: 1)
    assert p.rules["jvp"] is other
    with pytest.raises(AttributeError, match="'Primitive' object has no attribute 'jvpp'"):
        p.jvpp  # noqa: B018


def test_rules_of_families_give_way_to_specific_ones():
    p = Primitive("test_p")
    p.set_default("batch", lambda *_: 0)
    specific = p.batch(lambda *_: 1)
    assert p.rules["batch"] is specific
    with pytest.raises(ValueError, match="already"):
        p.batch(lambda *_: 2)


def test_required_slots_are_filled_or_absent_for_a_reason():
    p = Primitive("test_p")
    assert {"abstract", "eager", "jvp", "transpose", "batch", "lower"} <= {*p.missing()}
    p.absent("transpose", why="it is not linear")
    p.set_rule("batch_with_axis", lambda *_: 0)  # stands in for `batch`
    assert not {"transpose", "batch"} & {*p.missing()}
    p.transpose(lambda *_: 0)
    assert "transpose" not in p.absences


def test_names_of_slots_are_unique():
    with pytest.raises(ValueError, match="primitives already have 'jvp'"):
        declare_slot("jvp")
    with pytest.raises(ValueError, match="primitives already have 'bind'"):
        declare_slot("bind")


def test_types_of_results_are_memoized_by_operand_types_and_parameters():
    p = Primitive("test_p")
    calls = []

    @p.def_abstract_eval
    def _(x, **params):
        calls.append(params)
        return x

    for params in ({"n": 1}, {"n": 1}, {"n": 2}, {"n": [1]}, {"n": [1]}):
        assert p.result_type((F32,), params) == (F32, frozenset())
    assert calls == [{"n": 1}, {"n": 2}, {"n": [1]}, {"n": [1]}]  # a list is not hashable
    p.def_abstract_eval(lambda x, n: shaped_array((), x.dtype))
    assert p.result_type((F32,), {"n": 1})[0].shape == ()


def test_type_rules_return_as_many_types_as_there_are_results():
    p = Primitive("test_p")
    with pytest.raises(NotImplementedError, match="the rule with its method def_impl"):
        p.abstract_eval(F32)
    p.def_abstract_eval(lambda x: [x, x])
    with pytest.raises(ValueError, match="must return one type, because multiple_results is False"):
        p.abstract_eval(F32)
    p.multiple_results = True
    assert p.abstract_eval(F32)[0] == [F32, F32]


def test_effects_of_a_primitive_of_its_own():
    p, q = Primitive("test_p"), Primitive("test_q")
    p.def_effectful_abstract_eval2(lambda x: x)
    assert p.abstract_eval(F32) == (F32, {GenericEffect(p)})
    assert GenericEffect(p) != GenericEffect(q)
    assert p.is_effectful({})
    p.def_abstract_eval(lambda x: x)
    assert not p.is_effectful({})


def test_users_evaluation_can_call_the_previous_one():
    p = Primitive("test_p")
    p.def_abstract_eval(lambda x: x)
    p.def_impl(lambda x: x + 1)
    before = p.impl
    p.def_impl(lambda x: 10 * before(x))
    assert p.bind(np.float32(2)) == 30
    p.def_impl(before)
    assert p.bind(np.float32(2)) == 3
