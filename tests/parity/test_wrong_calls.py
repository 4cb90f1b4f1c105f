"""2,000 wrong calls of public functions: exceptions have JAX's classes, and point at the user's call.

Calls are chosen by their text. `data/other_classes.txt` lists those that raise another class than JAX's
with the reason; `docs/differences.md` tells of these in general.
"""

from __future__ import annotations

import functools
import linecache
import traceback
import warnings
import zlib
from pathlib import Path

import pytest
from tests.helpers.oracle import answer
from tests.parity.calls import VALUES, Call, Side, classes, fits, is_meant, variants

from jitney.core.diagnostics import tracebacks

SHARE = 36  # of all variants one in so many is called
PARTS = 12
FILE = "<wrong call>"
OTHER = Path(__file__).parent / "data" / "other_classes.txt"


@functools.cache
def side(name: str) -> Side:
    return Side(name)


@functools.cache
def chosen() -> list[Call]:
    return [c for c in variants("wrong", None, 0) if zlib.crc32(str(c).encode()) % SHARE == 0]


@functools.cache
def other_classes() -> frozenset[str]:
    """The calls in the list, which stand below the headings that give reasons."""
    lines = OTHER.read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def part_of(part: int) -> list[Call]:
    return chosen()[part::PARTS]


@pytest.mark.parametrize("part", range(PARTS))
def test_classes(part: int) -> None:
    calls = [str(call) for call in part_of(part)]
    theirs = answer(lambda: [side("jax").outcome(call) for call in calls], VALUES, classes)
    differ: list[str] = []
    for call, text, want in zip(part_of(part), calls, theirs, strict=True):
        got = side("jitney").outcome(text)
        if not fits(got, want) and not is_meant(call, got, want):
            differ.append(text)
    assert {*differ} == other_classes() & {*calls}, differ


def test_there_are_two_thousand() -> None:
    assert len(chosen()) > 2000
    assert other_classes() <= {str(call) for call in chosen()}
    assert len(other_classes()) < len(chosen()) / 50


# --- what is shown --------------------------------------------------------------------------------


def error_of(call: Call) -> Exception | None:
    """What a call raises, whose source is there as that of a file is."""
    text = str(call)
    linecache.cache[FILE] = len(text), None, [f"{text}\n"], FILE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            side("jitney").described(eval(compile(text, FILE, "eval"), dict(side("jitney").names)))
        except Exception as error:
            return error
    return None


# Functions that are NumPy's own.
OF_NUMPY = tuple(
    f"jax.numpy.{name}" for name in ("array_repr", "array_str", "can_cast", "iterable")
)


@pytest.mark.parametrize("part", range(PARTS))
def test_tracebacks_end_at_the_users_call(part: int) -> None:
    for call in part_of(part):
        error = error_of(call)
        if error is None or call.function in OF_NUMPY:
            continue
        tracebacks.shorten(error)
        assert error.__traceback__ is not None
        entries = traceback.extract_tb(error.__traceback__.tb_next)
        assert {e.filename for e in entries} == {FILE}, call  # twice if it has a function
        assert entries[0].colno == 0 and (entries[0].end_colno or 0) > len(call.function), call


def shows(call: Call, message: str) -> bool:
    """Whether a message begins with the call, with its function if it is long, or with a part of it."""
    begin = message.partition(": ")[0].partition(", in ")[0].removesuffix("(...)")
    return str(call).startswith(begin) or (" " in begin and begin in str(call))


@pytest.mark.parametrize("part", range(PARTS))
def test_messages_begin_with_the_call(part: int) -> None:
    for call in part_of(part):
        error = error_of(call)
        if error is None or call.function in OF_NUMPY:
            continue
        tracebacks.shorten(error)
        assert shows(call, str(error)), (call, error)


def test_messages_that_show_no_call_are_told_apart() -> None:
    call = Call("jax.numpy.sin", ("None",))
    assert not shows(call, "sin: something went wrong")
    assert not shows(call, "something went wrong")
    assert shows(call, f"{call}: something went wrong")
