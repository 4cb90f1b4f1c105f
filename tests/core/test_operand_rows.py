"""Rows of operands in messages show label, type and expression, aligned."""

import ast

import numpy as np
import pytest
from tests.helpers.written_code import written

import jitney.numpy as jnp
from jitney.core.diagnostics.operand_rows import MOST_ROWS, count_arrays, rows, type_of
from jitney.core.source.call_arguments import Argument
from jitney.core.types.avals import shaped_array


def expression(text):
    return ast.parse(text).body[0].value


@pytest.mark.parametrize(
    "value, text",
    [
        (np.zeros((2, 3), np.int8), "int8[2,3]"),
        (np.float32(1), "float32[]"),
        (shaped_array((4,), np.dtype(np.float32)), "float32[4]"),
        (3, ""),
        ("x", ""),
        (np.ndarray, ""),
    ],
)
def test_types_of_arrays_only(value, text):
    assert type_of(value) == text
    assert type_of(jnp.zeros(2)) == "float32[2]"


def test_rows_are_aligned():
    code = written("f(u, [v, w], n)")
    _, listed, number = code.expression.args
    arguments = [
        Argument("x", np.zeros(3, np.float32), code.expression.args[0]),
        Argument("ys", [np.zeros((), np.int8), np.zeros(10, np.int8)], listed),
        Argument("axis", 2, number),
        Argument("keepdims", True, expression("True")),  # the expression shows it
        Argument("fun", len, expression("fun")),
    ]
    assert rows(arguments, code) == [
        "  x      float32[3]  u",
        "  ys[0]  int8[]      v",
        "  ys[1]  int8[10]    w",
        "  axis   2           n",
    ]


def test_expressions_of_unpacked_lists_are_not_known():
    code = written("f([*vs, w])")
    value = [np.zeros(1, np.int8), np.zeros(1, np.int8)]
    shown = rows([Argument("ys", value, code.expression.args[0])], code)
    assert shown == ["  ys[0]  int8[1]", "  ys[1]  int8[1]"]


def test_many_rows_are_cut():
    code = written("f(xs)")
    arguments = [Argument("xs", [np.zeros(1)] * 9, None)]
    shown = rows(arguments, code)
    assert len(shown) == MOST_ROWS + 1
    assert shown[-1] == "  ..."
    assert rows([], code) == []


def test_leading_arrays_are_counted_without_axes():
    x = np.zeros(2)
    assert count_arrays([x, x, 3, x]) == 2
    assert count_arrays([x, np.int32(1)]) == 1  # may be an axis
    assert count_arrays([np.float32(1), x]) == 2
