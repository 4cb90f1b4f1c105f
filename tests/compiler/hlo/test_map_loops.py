"""Loops whose iterations read and write rows of their own are divided by rows."""

import numpy as np
import pytest

from jitney.compiler.hlo import map_loops
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import Project, Region
from jitney.compiler.hlo.parse import parse_region

# out[i] = xs[i] * scale + 3 i, for which a second carry counts in threes.
TEXT = """(p0: int32[6,2], p1: int32[2], p2: int32[6,2]) {
  %3 = constant 0 : int32[]
  %4 = constant 10 : int32[]
  %5 = while %3, p0, p1, p2, %4 \
cond=(p0: int32[], p1: int32[6,2], p2: int32[2], p3: int32[6,2], p4: int32[]) {
    %5 = constant 6 : int32[]
    %6 = lt p0, %5 : bool[]
    return %6
  } body=(p0: int32[], p1: int32[6,2], p2: int32[2], p3: int32[6,2], p4: int32[]) {
    %5 = constant 0 : int32[]
    %6 = constant 5 : int32[]
    %7 = sub %6, p0 : int32[]
    %8 = dynamic_slice p1, p0, %5 sizes=(1,2) : int32[1,2]
    %9 = reshape %8 : int32[2]
    %10 = mul %9, p2 : int32[2]
    %11 = broadcast p4 dims=() : int32[2]
    %12 = add %10, %11 : int32[2]
    %13 = reshape %12 : int32[1,2]
    %14 = dynamic_update_slice p3, %13, p0, %5 : int32[6,2]
    %15 = constant 1 : int32[]
    %16 = add p0, %15 : int32[]
    %17 = constant 3 : int32[]
    %18 = add p4, %17 : int32[]
    return %16, p1, p2, %14, %18
  } : (int32[], int32[6,2], int32[2], int32[6,2], int32[])
  %6 = project %5 index=3 : int32[6,2]
  return %6
}"""
BACKWARDS = (("p1, p0, %5", "p1, %7, %5"), ("%13, p0, %5", "%13, %7, %5"))
XS = np.arange(12, dtype=np.int32).reshape(6, 2)
SCALE = np.int32([2, -1])


def region(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_region(text)


def loop(*changes):
    return region(*changes).results[0].node


@pytest.mark.parametrize("changes", [(), BACKWARDS])
def test_carries_are_known_by_their_use(changes):
    found = map_loops.as_map(loop(*changes))
    assert (found.counted.counter, found.counted.count) == (0, 6)
    assert (found.sliced, found.stacked, found.mapped) == ({1}, {3}, {1, 3})
    assert found.steps == {4: 3} and found.is_backwards == bool(changes)


@pytest.mark.parametrize(
    "changes",
    [
        BACKWARDS[:1],  # reads and writes different rows
        BACKWARDS[1:],
        (("%13, p0, %5", "%13, %5, %5"),),  # writes one row alone
        (("%18 = add p4, %17", "%18 = mul p4, %17"),),
        (("%12 = add %10, %11", "%19 = dynamic_slice p3, %5, %5 sizes=(1,2) : int32[1,2]\n"
          "    %20 = reshape %19 : int32[2]\n    %12 = add %10, %20"),),  # reads what it writes
        (("%5 = constant 6", "%5 = constant 5"),),
    ],
)  # fmt: skip
def test_other_loops_are_none(changes):
    assert map_loops.as_map(loop(*changes)) is None


@pytest.mark.parametrize("changes", [(), BACKWARDS])
@pytest.mark.parametrize("parts", [2, 3])
def test_parts_of_the_rows_make_the_whole(changes, parts):
    whole = run_region(region(*changes), [XS, SCALE, np.zeros_like(XS)])[0]
    node = loop(*changes)
    part = map_loops.for_rows(node, map_loops.as_map(node), parts)
    program = Region(part.init, (Project(part.type[3], part.id + 1, part, 3),))
    count = 6 // parts
    made = []
    for k in range(parts):
        rows = XS[k * count : (k + 1) * count]
        first = 6 - (k + 1) * count if changes else k * count  # number of the first iteration
        counted = np.int32(0), np.int32(10 + 3 * first), np.int32(first)
        made += run_region(program, [counted[0], rows, SCALE, np.zeros_like(rows), *counted[1:]])
    np.testing.assert_array_equal(np.concatenate(made), whole)
