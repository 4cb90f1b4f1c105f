"""Operations on users' values are evaluated by `to_lojax`, and name the methods that they lack."""

import pytest

from jitney.core.tracing.hi_primitive import HiPrimitive


class Twice(HiPrimitive):
    def to_lojax(self, x, *, factor):
        return factor * x


def test_evaluation_is_by_to_lojax():
    twice = Twice("twice")
    assert twice.impl(3, factor=2) == 6
    assert twice.is_high(3, factor=2)
    assert not twice.is_effectful({})


@pytest.mark.parametrize(
    "call, method",
    [
        (lambda p: p.abstract_eval(), "abstract_eval"),
        (lambda p: p.jvp((), ()), "jvp"),
        (lambda p: p.rules["jvp"]((), ()), "jvp"),
        (lambda p: p.rules["transpose"](None), "transpose"),
        (lambda p: HiPrimitive("bare").to_lojax(), "to_lojax"),
    ],
)
def test_missing_methods_are_named(call, method):
    with pytest.raises(NotImplementedError, match=f"must define the method {method}, which"):
        call(Twice("twice"))


def test_rules_are_the_methods_of_the_subclass():
    class Differentiable(Twice):
        def jvp(self, primals, tangents, **params):
            return primals, tangents

    assert Differentiable("d").rules["jvp"]((1,), (2,)) == ((1,), (2,))
