"""Texts of symbolic shapes and constraints are read by the grammar, and errors say where they are."""

import pytest

from jitney.core.symbolic.parse import parse_constraint, parse_shape
from jitney.core.symbolic.scope import SymbolicScope


@pytest.mark.parametrize(
    "text, shown",
    [
        ("", []),
        ("()", []),
        ("(a,)", ["a"]),
        (" 2 * n+1 , n^2", ["2*n + 1", "n^2"]),
        ("-3 + 2*-1*a", ["- 2*a - 3"]),
        ("floordiv(a, 2)*b, mod(a, 3)^2", ["b*floordiv(a, 2)", "mod(a, 3)^2"]),
        ("max(a, 2), min(a, 1)", ["max(a, 2)", "1"]),
        ("4*5", ["20"]),
    ],
)
def test_shapes(text, shown):
    assert [str(d) for d in parse_shape(text, SymbolicScope())] == shown


def test_placeholders_take_the_sizes_of_another_shape():
    scope = SymbolicScope()
    assert parse_shape("_, b, ...", scope, (7, None, 5, 6))[2:] == (5, 6)
    assert parse_shape(None, scope, (1, 2)) == (1, 2)
    assert parse_shape("...", scope, ()) == ()


@pytest.mark.parametrize(
    "text, like, message",
    [
        ("a b", None, r"expected ',' or an operator, but found 'b'. Parsed 'a', remaining ' b'"),
        ("a, 2*", None, r"in dimension 1: expected a name or a number, but found the end"),
        ("a^b", None, r"expected a number, but found 'b'"),
        ("(a, b", None, r"expected ',', '\)' or an operator, but found the end"),
        ("(a, ...", (1, 2), r"expected '\)', but found the end"),
        ("a)", None, r"expected ',' or an operator, but found '\)'"),
        ("max(a b)", None, r"expected ',', but found 'b'"),
        ("_", None, r"takes sizes of `like`, which was not passed"),
        ("a, _", (1,), r"'_' takes a size of like=\(1,\), which has no dimension 1"),
        ("_", (None,), r"whose size 0 is not known"),
        ("..., a", (1, 2), r"must be the last dimension, but 'a' follows"),
        ("a, b", (1,), r"has 2 dimensions, but like=\(1,\) has 1"),
        ("a, 4", (1, 5), r"has 4 for dimension 1, but like=\(1, 5\) has 5"),
    ],
)
def test_errors_name_the_place(text, like, message):
    with pytest.raises(ValueError, match=message):
        parse_shape(text, SymbolicScope(), like)


def test_constraints_have_two_sides():
    left, sign, right = parse_constraint("a + 1 <= 2*b", SymbolicScope())
    assert (str(left), sign, str(right)) == ("a + 1", "<=", "2*b")
    with pytest.raises(ValueError, match="must compare two sizes"):
        parse_constraint("a < b", SymbolicScope())
    with pytest.raises(ValueError, match="expected the end of the expression"):
        parse_constraint("a >= b, c", SymbolicScope())
