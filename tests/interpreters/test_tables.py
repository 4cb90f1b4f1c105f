"""Tables of rules are views of the rules of primitives, and a rule may exclude others."""

import pytest

from jitney.core.tracing.primitive import Primitive
from jitney.interpreters import tables
from jitney.interpreters.tables import RuleTable
from jitney.lax import sin_p


def rule(x):
    return x


@pytest.fixture
def own():
    return Primitive("own primitive of the tests of tables")


def test_rules_are_set_and_removed(own):
    table = RuleTable("batch")
    assert own not in table and "batch" not in table
    table[own] = rule
    assert table[own] is rule is own.rules["batch"] and own in table
    assert own in RuleTable("batch") and own not in RuleTable("jvp")
    table[own] = len
    assert table[own] is len
    del table[own]
    assert own not in table
    with pytest.raises(KeyError):
        table[own]


def test_a_rule_replaces_those_in_other_slots(own):
    first = RuleTable("batch", replaces=("batch_with_axis",))
    second = RuleTable("batch_with_axis", replaces=("batch",))
    first[own] = rule
    second[own] = rule
    assert own in second and own not in first
    first[own] = rule
    assert own in first and own not in second


def test_rules_are_converted(own):
    table = RuleTable("batch", adapt=lambda r: ("stored", r), show=lambda stored: stored[1])
    table[own] = rule
    assert own.rules["batch"] == ("stored", rule) and table[own] is rule


def test_iteration_yields_each_primitive_once(own):
    table = RuleTable("jvp")
    table[own] = rule
    primitives = list(table)
    assert len(primitives) == len(set(primitives)) == len(table)
    assert own in primitives and sin_p in primitives
    assert repr(table) == f"<rules for jvp of {len(table)} primitives>"
    assert own not in list(RuleTable("jvp"))  # unregistered primitives are those set here


def test_slots_are_cleared(own):
    tables.set_rule(own, "batch", rule)
    tables.set_rule(own, "jvp", rule, replaces=("batch", "transpose"))
    assert "batch" not in own.rules
    tables.clear(own, "jvp", "transpose")
    assert "jvp" not in own.rules
