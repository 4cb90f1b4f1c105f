"""The text of a program is parsed to the same program; errors name their line."""

import numpy as np
import pytest

from jitney.compiler import lapack
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.parse import ParseError, parse_module, parse_region
from jitney.compiler.hlo.text import print_module, print_region

PROGRAMS = {
    "constants": """module f() {
  %0 = constant {1.5, -0.0, nan} : float32[3]
  %1 = constant 2:-1.0 : complex64[]
  %2 = constant {} : int8[0,2]
  return %0, %2
}""",
    "views": """module f(p0: float32[4,6]) {
  %1 = slice p0 starts=(0,1) limits=(4,6) strides=(2,1) : float32[2,5]
  %2 = reverse %1 dims=(1,) : float32[2,5]
  %3 = constant 0.0 : float32[]
  %4 = pad %2, %3 low=(0,-1) high=(1,0) interior=(0,2) : float32[3,12]
  return %4
}""",
    "several results": """module f(p0: int32[5]) {
  %1 = top_k p0 k=2 dim=0 : (int32[2], int32[2])
  %2 = project %1 index=1 : int32[2]
  return %2
}""",
    "gather": """module f(p0: float32[5,3], p1: int32[7,1]) {
  %2 = gather p0, p1 offset_dims=(1,) collapsed_slice_dims=(0,) start_index_map=(0,) \
slice_sizes=(1,3) mode=fill fill=nan : float32[7,3]
  return %2
}""",
    "branches": """module f(p0: int32[], p1: float32[2]) {
  %2 = cond p0, p1 case0=(p0: float32[2]) {
    return p0
  } case1=(p0: float32[2]) {
    %1 = neg p0 : float32[2]
    return %1
  } : (float32[2])
  %3 = project %2 index=0 : float32[2]
  return %3
}""",
}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "constants"])
def test_programs_are_read_back(name):
    text = PROGRAMS[name]
    assert print_module(parse_module(text)) == text


def test_constants_have_the_shape_of_their_type():
    values, empty = [r.value for r in parse_module(PROGRAMS["constants"]).region.results]
    np.testing.assert_array_equal(values, np.float32([1.5, -0.0, np.nan]))
    assert np.signbit(values[1]) and empty.shape == (0, 2)


def test_regions_are_functions():
    region = parse_region("(p0: int32[3]) {\n  %1 = mul p0, p0 : int32[3]\n  return %1, p0\n}")
    found = run_region(region, [np.arange(3, dtype=np.int32)])
    np.testing.assert_array_equal(found, [[0, 1, 4], [0, 1, 2]])
    assert parse_region(print_region(region)).results[1].index == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%1 = add p0, %7 : float32[3]", "line 2: %7 is not defined"),
        ("%1 = neg p0 : float32[4]", r"line 2: neg: the type is float32\[3\]"),
        ("%1 = neg p0 : float31[3]", "line 2: no dtype float31"),
        ("%1 = constant {1, 2} : float32[3]", "line 2: this is not a constant of its type"),
        ("%1 = transpose p0 perm=(0,0) : float32[3]", "line 2: transpose: .*transpose.C1"),
        ("%1 = frobnicate p0 : float32[3]", "line 2: frobnicate"),
        ("neg p0", "line 2: a node's number expected, found 'neg p0"),
    ],
)
def test_errors_name_their_line(line, message):
    with pytest.raises(ParseError, match=message):
        parse_module(f"module f(p0: float32[3]) {{\n  {line}\n  return p0\n}}")


@pytest.mark.parametrize("parse", [parse_module, parse_region])
def test_nothing_may_follow_the_program(parse):
    head = "module f" if parse is parse_module else ""
    with pytest.raises(ParseError, match="text after the"):
        parse(head + "() {\n  return\n}\n}")


def test_calls_of_libraries_have_their_parameters():
    b = Builder()
    a, rhs = [
        b.parameter(k, ir.TensorType((70, n), np.dtype(np.float32))) for k, n in ((0, 70), (1, 4))
    ]
    routine = lapack.routine("triangular_solve", 70, 4, 1, 1, 0, 0)
    text = print_module(
        b.module("f", [a, rhs], b.library_call(routine.name, routine.params, [a, rhs]))
    )
    read = parse_module(text)
    assert read.region.results[0].node.params == routine.params
    assert print_module(read) == text
