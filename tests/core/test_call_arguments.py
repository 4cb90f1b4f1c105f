"""The arguments of a call have labels and expressions, whatever the parameters are."""

import inspect
import sys

import pytest
from tests.helpers.written_code import written

from jitney.core.source import call_arguments
from jitney.core.source.call_arguments import bind, inner, of_call, of_frame, signature_of, syntax


def f(a, *rest, k=0, **others):
    return a, rest, k, others


def shown(arguments, code):
    return [(x.label, x.value, code.text(x.node) if x.node else None) for x in arguments]


def test_arguments_of_all_kinds_have_their_expressions():
    code = written("f(u, v + 1, w, k=q, z=r)")
    signature = signature_of(f)
    bound = bind(signature, (1, 2, 3), {"k": 4, "z": 5})
    arguments = of_call(bound, signature, syntax(code, signature, f))
    assert shown(arguments, code) == [
        ("a", 1, "u"),
        ("rest[0]", 2, "v + 1"),
        ("rest[1]", 3, "w"),
        ("k", 4, "q"),
        ("z", 5, "r"),
    ]


@pytest.mark.parametrize("text", ["g(u)", "f(*xs)", "f + u", "f(u, k=1, a=2)"])
def test_expressions_that_cannot_be_assigned_are_unknown(text):
    assert syntax(written(text), signature_of(f), f) == {}
    assert syntax(written("f(u)"), None, f) == {}


def test_calls_that_do_not_fit_are_unknown():
    assert bind(signature_of(f), (), {}) is None
    assert bind(None, (1,), {}) is None
    assert signature_of(3) is None
    assert inner((f, (1, 2), {"k": 3})) == ((1, 2), {"k": 3})
    assert inner((1, 2)) == ((), {})


def frame_of(x, y, *more):
    y = y + 1
    return sys._getframe()


class Operand:
    def __init__(self):
        self.frame = None

    def __add__(self, other):
        return sys._getframe()

    def __radd__(self, other):
        return sys._getframe()

    def __getitem__(self, index):
        return sys._getframe()


def test_arguments_of_a_frame_leave_out_rebound_variables():
    code = written("frame_of(u, 2, v)")
    arguments = of_frame(code, frame_of(1, 2, 3), frame_of)
    assert shown(arguments, code) == [("x", 1, "u"), ("more[0]", 3, "v")]


def test_operands_have_the_sides_of_the_operator():
    x = Operand()
    code = written("p + q")
    left = shown(of_frame(code, x.__add__(5), None), code)
    assert left == [("left", x, "p"), ("right", 5, "q")]
    right = shown(of_frame(code, x.__radd__(5), None), code)
    assert right == [("right", x, "q"), ("left", 5, "p")]
    code = written("p[q]")
    assert shown(of_frame(code, x[5], None), code) == [("array", x, "p"), ("index", 5, "q")]


def test_annotations_tell_which_parameters_take_arrays():
    def g(x: "ArrayLike", xs: "Sequence[Array]", axis: "int"):  # noqa: F821
        pass

    x, xs, axis = inspect.signature(g).parameters.values()
    assert [call_arguments.takes_arrays(p) for p in (x, xs, axis)] == [True, True, False]
    assert [call_arguments.takes_list(p) for p in (x, xs, axis)] == [False, True, False]
