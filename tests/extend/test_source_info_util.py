"""`jax.extend.source_info_util`: name stacks beside real jax's, and places of equations."""

import pytest
from tests.helpers.both import of_both
from tests.helpers.rule_checks import module

import jitney
from jitney.extend import source_info_util


def built(s):
    stack = s.new_name_stack().extend("a").extend("b/c")
    more = stack.transform("vmap").transform("jvp").extend("x").extend("y")
    return [
        stack, more, stack.transform("jvp"), stack + more, more[1:], s.new_name_stack("q"),
        s.NameStack(more.stack[:3]),
    ]  # fmt: skip


def entered(s):
    found = []
    with s.extend_name_stack("outer") as outer:
        found += [outer, s.current_name_stack()]
        with s.transform_name_stack("jvp"), s.extend_name_stack("inner"):
            found.append(s.current_name_stack())
        with s.reset_name_stack():
            found.append(s.current_name_stack())
        with s.set_name_stack(s.new_name_stack("set")):
            found.append(s.current_name_stack())
        with s.user_context(None, name_stack=s.new_name_stack("user")):
            found.append(s.current().name_stack)
        found.append(s.current_name_stack())
    return found


@pytest.mark.parametrize("case", [built, entered])
def test_as_in_jax(case):
    def stacks(j):
        found = case(module(j, "extend.source_info_util"))
        return [(str(x), repr(x), len(x)) for x in found]

    ours, theirs = of_both(stacks)
    assert ours == theirs


def test_equality():
    s = source_info_util
    stack = s.new_name_stack("a").extend("b")
    assert stack == s.NameStack().extend("a").extend("b")
    assert hash(stack) == hash(s.NameStack().extend("a").extend("b"))
    assert stack != s.NameStack().extend("a").transform("b")
    assert not s.NameStack()


def test_scopes_of_equations():
    def f(x):
        with jitney.named_scope("layer"), jitney.named_scope("norm"):
            return jitney.numpy.sin(x)

    assert str(jitney.make_jaxpr(f)(1.0).eqns[0].source_info.name_stack) == "layer/norm"


def test_who_runs_a_jaxpr_keeps_its_places():
    s = source_info_util

    def f(x):
        with jitney.named_scope("inner"):
            return jitney.numpy.sin(x)

    (eqn,) = jitney.make_jaxpr(f)(1.0).eqns

    def again(x):
        stack = s.current_name_stack() + eqn.source_info.name_stack
        with s.user_context(eqn.source_info.traceback, name_stack=stack):
            return eqn.primitive.bind(x, **eqn.params)

    with jitney.named_scope("not of the program"):
        (copy,) = jitney.make_jaxpr(jitney.named_scope("outer")(again))(1.0).eqns
    assert s.summarize(copy.source_info) == s.summarize(eqn.source_info)
    assert "test_source_info_util.py" in s.summarize(copy.source_info)
    assert str(copy.source_info.name_stack) == "outer/inner"
    moved = eqn.source_info.replace(name_stack=s.new_name_stack("z"))
    assert (str(moved.name_stack), s.summarize(moved)) == ("z", s.summarize(eqn.source_info))
