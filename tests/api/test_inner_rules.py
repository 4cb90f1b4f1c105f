"""Setters of rules are looked up in the function that an object wraps, and nothing else is."""

import pytest

from jitney.api.rules.inner_rules import inner_rule


class Inner:
    def def_vmap(self, rule):
        return "set", rule

    def other(self):
        return None


class Outer:
    def __init__(self, fun):
        self.fun = fun


def test_setters_of_the_wrapped_function_are_found():
    assert inner_rule(Outer(Inner()), "def_vmap")(1) == ("set", 1)


@pytest.mark.parametrize("name", ["other", "defjvp", "__wrapped__"])
def test_other_attributes_are_not(name):
    with pytest.raises(AttributeError, match=f"'Outer' object has no attribute '{name}'"):
        inner_rule(Outer(Inner()), name)


def test_objects_that_are_not_complete_yet_have_no_setters():
    empty = Outer.__new__(Outer)  # as while it is unpickled
    with pytest.raises(AttributeError, match="no attribute 'defvjp'"):
        inner_rule(empty, "defvjp")
