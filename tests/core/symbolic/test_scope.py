"""Constraints bound symbolic sizes: bounds hold for all values that satisfy the constraints."""

import math
import random

import pytest

from jitney.core.symbolic.expressions import DimExpr
from jitney.core.symbolic.parse import parse_shape
from jitney.core.symbolic.scope import SymbolicScope


def bounds(text, *constraints):
    scope = SymbolicScope(constraints)
    (size,) = parse_shape(text, scope)
    return scope.bounds(size) if isinstance(size, DimExpr) else (size, size)


@pytest.mark.parametrize(
    "text, constraints, expected",
    [
        ("a", [], (1, math.inf)),
        ("a", ["a >= 4", "a <= 9"], (4, 9)),
        ("a", ["2*a >= 7", "3*a <= 20"], (4, 6)),
        ("-2*a + 1", ["a <= 3"], (-5, -1)),
        ("a - b", ["a >= b"], (0, math.inf)),
        ("a - 2*b", ["a >= b", "b >= 5"], (-math.inf, math.inf)),
        ("mod(a, 4)", [], (0, 3)),
        ("mod(a, -4)", [], (-3, 0)),
        ("mod(a, 9)", ["a <= 3"], (0, 3)),
        ("a - 2*floordiv(a, 2)", [], (0, 1)),
        ("floordiv(a, 3)", ["a >= 7", "a <= 11"], (2, 3)),
        ("max(a, b)", ["a >= 3", "b <= 2"], (3, math.inf)),
        ("a^2", ["a <= 3"], (1, 9)),
        ("a - 3*b", ["a == 4*b"], (1, math.inf)),
        ("a", ["a == 5"], (5, 5)),
    ],
)
def test_bounds(text, constraints, expected):
    assert bounds(text, *constraints) == expected


def test_bounds_hold_for_random_values():
    rng = random.Random(3)
    scope = SymbolicScope(["a <= 6", "b <= 4", "a >= b"])
    texts = ["a*b - a", "mod(a, b) - b", "floordiv(3*a, b)", "max(a, 2*b) - min(a, b)", "a^2 - 7*b"]
    for size in parse_shape(", ".join(texts), scope):
        low, high = scope.bounds(size)
        for _ in range(20):
            a, b = rng.randrange(1, 7), rng.randrange(1, 5)
            if a >= b:
                assert low <= size.evaluate({"a": a, "b": b}) <= high


def test_equations_replace_products():
    scope = SymbolicScope(["a*b == c", "d == 2*c + 1"])
    assert parse_shape("a*b - c, d - 2*c, d^2", scope)[:2] == (0, 1)
    assert str(parse_shape("d^2", scope)[0]) == "4*c^2 + 4*c + 1"


@pytest.mark.parametrize(
    "constraints, message",
    [
        (["a <= 0"], "Unsatisfiable constraint: a <= 0"),
        (["a >= 5", "a <= 4"], "Unsatisfiable constraint: a <= 4"),
        (["a == a + 1"], "Unsatisfiable constraint"),
        (["a + b == 3"], "must be a product of variables"),
        (["2*a == b"], "must be a product of variables"),
        ("a >= 1", "must be a sequence of strings"),
    ],
)
def test_impossible_constraints_are_refused(constraints, message):
    with pytest.raises(ValueError, match=message):
        SymbolicScope(constraints)


def test_the_text_lists_the_constraints():
    assert str(SymbolicScope(["a >= 2", "b == a"])).endswith(
        "with constraints:\n  a >= 2\n  b == a"
    )
