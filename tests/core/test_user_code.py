"""Places in the user's program have an expression, its text, and the values of its variables."""

import ast
import sys

from tests.helpers.written_code import written

from jitney.core.source import user_code
from jitney.core.source.source_info import Place, source_info


def place():
    frame = sys._getframe()
    return user_code.at(frame, frame.f_lasti)


def test_the_innermost_expression_of_an_instruction_is_found():
    code = place()
    assert code.text() == "frame.f_lasti"
    assert code.text(code.path[1]) == "user_code.at(frame, frame.f_lasti)"
    assert isinstance(code.path[2], ast.Return)
    assert code.function == "place"
    assert code.place == f"test_user_code.py:{place.__code__.co_firstlineno + 2}"


def test_expressions_over_several_lines_are_on_one():
    code = written("f(\n    a,  # é\n    b[0])", "b[0]")
    assert code.text(code.path[1]) == "f( a, # é b[0])"
    assert code.text(code.path[0]) == "b[0]"
    assert written("x").text(ast.Load()) == ""


def test_variables_are_listed_in_order_with_their_values():
    code = written("y + f(x, y, z)", x=1, y=2, f=len)
    assert [*code.variables()] == [("y", 2), ("f", len), ("x", 1), ("y", 2)]
    assert code.value_of("z", 7) == 7
    assert code.value_of("x") == 1


def test_arguments_are_described_with_their_function():
    def layer(weights, *, bias=0):
        local = sys._getframe()
        return user_code.UserCode((), (), local, 1)

    line = layer.__code__.co_firstlineno
    code = layer(3)
    for name in ("weights", "bias"):
        assert code.described(name) == f"argument {name} of layer (test_user_code.py:{line})"
    assert code.described("local") == "local"
    assert code.expression is None
    assert [*code.variables()] == []


def test_loops_around_a_place():
    def info():
        frame = sys._getframe(1)
        return source_info(Place(frame.f_code, frame.f_lasti), ())

    first = sys._getframe().f_lineno
    for _ in range(1):
        looped = info()
    listed = [info() for _ in range(1)]
    plain = []
    for before in (info(),):
        plain.append(before)
    assert user_code.loop_around(looped) == (__file__, first + 1)
    assert user_code.loop_around(listed[0]) == (__file__, first + 3)
    assert user_code.loop_around(plain[0]) is None
    assert user_code.loop_around(source_info(None, ())) is None
