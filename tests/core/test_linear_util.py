"""Functions in stages: what makes them equal, and what their stages give aside."""

import pytest

from jitney.core.recording import linear_util as lu


def plain(f, factor, x):
    return f(x) * factor


def generator(factor, x):
    out = yield (x + 1,), {}
    yield out * factor


def generator_with_aux(x):
    out = yield (x,), {}
    yield out, "aside"


def f(x):
    return x + 10


def wrapped(*stages):
    out = lu.wrap_init(f, debug_info=None)
    for stage, *static in stages:
        out = stage(out, *static)
    return out


PLAIN = lu.transformation2(plain)
GENERATOR = lu.transformation(generator)


def test_stages_run_from_the_outermost_inwards():
    assert wrapped((PLAIN, 2)).call_wrapped(1) == 22
    assert wrapped((GENERATOR, 3)).call_wrapped(1) == 36
    assert wrapped((PLAIN, 2), (GENERATOR, 3)).call_wrapped(1) == (2 + 10) * 2 * 3


@pytest.mark.parametrize("stage", [PLAIN, GENERATOR])
def test_functions_of_the_same_stages_are_equal(stage):
    one, same = wrapped((stage, 2)), wrapped((stage, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != wrapped((stage, 3))
    assert one != wrapped()
    assert wrapped((PLAIN, 2)) != wrapped((GENERATOR, 2))


def test_generators_are_equal_as_their_functions_are():
    def other(factor, x):
        yield from generator(factor, x)

    assert wrapped((GENERATOR, 2)) != wrapped((lu.transformation(other), 2))


def test_results_aside():
    fun, aside = lu.transformation_with_aux(generator_with_aux, wrapped())
    with pytest.raises(lu.StoreException):
        aside()
    assert fun.call_wrapped(1) == 11
    assert aside() == "aside"
    with pytest.raises(lu.StoreException):
        fun.call_wrapped(1)
