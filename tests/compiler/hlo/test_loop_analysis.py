"""Loops that count from 0 in steps of 1 have a trip count; all others have none."""

import numpy as np
import pytest

from jitney.compiler.hlo.loop_analysis import (
    CountedLoop,
    count_trips,
    covers_all_rows,
    is_fully_overwritten,
    is_invariant,
)
from jitney.compiler.hlo.parse import parse_region

TEXT = """(p0: float32[5,2], p1: float32[2]) {
  %2 = constant 0 : int32[]
  %3 = while p1, %2, p0 cond=(p0: float32[2], p1: int32[], p2: float32[5,2]) {
    %3 = constant 5 : int32[]
    %4 = lt p1, %3 : bool[]
    return %4
  } body=(p0: float32[2], p1: int32[], p2: float32[5,2]) {
    %3 = constant 1 : int32[]
    %4 = add p1, %3 : int32[]
    %5 = constant 4 : int32[]
    %6 = sub %5, p1 : int32[]
    %7 = constant 0 : int32[]
    %8 = reshape p0 : float32[1,2]
    %9 = dynamic_update_slice p2, %8, p1, %7 : float32[5,2]
    return p0, %4, %9
  } : (float32[2], int32[], float32[5,2])
  %4 = project %3 index=2 : float32[5,2]
  return %4
}"""


def loop(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_region(text).results[0].node


def test_the_counter_may_be_any_carry():
    assert count_trips(loop()) == CountedLoop(counter=1, count=5)
    assert count_trips(loop(("add p1, %3", "add %3, p1"))) == CountedLoop(1, 5)


@pytest.mark.parametrize(
    "change",
    [
        ("%2 = constant 0", "%2 = constant 1"),
        ("%3 = constant 1", "%3 = constant 2"),
        ("%3 = constant 5", "%3 = constant 0"),
        ("lt p1, %3", "le p1, %3"),
        ("lt p1, %3", "lt %3, p1"),
        ("add p1, %3", "sub p1, %3"),
        ("add p1, %3", "add %3, %3"),
    ],
)
def test_other_loops_have_no_trip_count(change):
    assert count_trips(loop(change)) is None


def test_carries_that_iterations_return_are_invariant():
    body = loop().body
    assert [is_invariant(body, p) for p in body.parameters] == [True, False, False]
    assert not is_invariant(body, body.results[1])


def test_a_loop_that_writes_a_row_each_time_overwrites_all():
    assert is_fully_overwritten(loop(), 2)
    assert is_fully_overwritten(loop(("%8, p1, %7", "%8, %6, %7")), 2)  # backwards
    assert not is_fully_overwritten(loop(("%8, p1, %7", "%8, %7, %7")), 2)  # the same row
    assert not is_fully_overwritten(loop(("%3 = constant 5", "%3 = constant 4")), 2)
    assert not is_fully_overwritten(loop(), 0)


def test_rows_are_covered_forwards_or_backwards():
    body = loop().body
    counter = body.parameters[1]
    back = body.results[2].x  # the carry, which is no position
    assert covers_all_rows(counter, counter, 5) and not covers_all_rows(back, counter, 5)
    reversed_ = loop(("%8, p1, %7", "%8, %6, %7")).body
    start = reversed_.results[2].starts[0]
    assert covers_all_rows(start, reversed_.parameters[1], 5)
    assert not covers_all_rows(start, reversed_.parameters[1], 6)
    assert start.args[0].value == np.int32(4)
