"""Name stacks print scopes by slashes, and transformations around what follows."""

import pytest

from jitney.core.source.name_stack import NameStack, Scope, Transform, new_name_stack


@pytest.mark.parametrize(
    "stack, text",
    [
        (NameStack(), ""),
        (new_name_stack("a").extend("b"), "a/b"),
        (new_name_stack("a").transform("jvp"), "a/jvp()"),
        (NameStack().transform("jvp").extend("a").extend("b"), "jvp(a)/b"),
        (
            new_name_stack("outer")
            .transform("jvp")
            .transform("vmap")
            .extend("inner")
            .extend("end"),
            "outer/jvp(vmap(inner))/end",
        ),
    ],
)
def test_texts(stack, text):
    assert str(stack) == text


def test_stacks_are_immutable_tuples():
    stack = new_name_stack("a")
    longer = stack + new_name_stack("b").transform("jvp")
    assert len(stack) == 1
    assert longer.stack == (Scope("a"), Scope("b"), Transform("jvp"))
    assert longer == NameStack([Scope("a"), Scope("b"), Transform("jvp")])
    assert hash(longer) == hash(NameStack(longer.stack))
    assert type(longer[1:]) is NameStack
    assert str(longer[1:]) == "b/jvp()"
    assert longer[0] == Scope("a") != Transform("a")
    with pytest.raises(AssertionError):
        stack + ("b",)
