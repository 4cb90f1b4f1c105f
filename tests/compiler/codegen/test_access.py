"""Vectors are loaded and stored as masks say, and nothing else is touched."""

import numpy as np
import pytest
from tests.compiler.written import run, vector

from jitney.compiler.codegen import access
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX512
from jitney.compiler.llvm.values import Value, constant

KINDS = {"i8": np.int8, "i16": np.int16, "f32": np.float32, "i64": np.int64}


def pointers(e, base, indices, kind):
    """The addresses of elements, at the positions in memory at `indices`."""
    places = vector(e, indices, "i64", 8)
    return e.emit(f"getelementptr {access.type_text(kind)}, {base!r}, {places!r}", "ptr", 8)


@pytest.mark.parametrize("kind", KINDS)
def test_masked_access(kind):
    """Of a count below zero no lane is used, of one above the lanes all are."""
    counts = np.int64([-3, 0, 1, 5, 8, 100])
    x = np.arange(1, 9).astype(KINDS[kind])
    loaded = np.full((len(counts), 8), 7).astype(KINDS[kind])
    stored = np.full((len(counts), 9), 7).astype(KINDS[kind])

    def write(e, px, pn, pl, ps):
        for k in range(len(counts)):
            mask = access.lanes_below(e, e.element(pn, "i64", constant(k, "i64")), 8)
            value = access.load_vector(e, px, kind, 8, mask)
            element = access.type_text(kind)
            to, from_ = [
                e.emit(f"getelementptr {element}, {p!r}, i64 {n * k}", "ptr")
                for p, n in ((pl, 8), (ps, 9))
            ]
            access.store_vector(e, value, to, None)
            access.store_vector(e, value, from_, mask)

    run(write, x, counts, loaded, stored)
    for k, count in enumerate(counts):
        n = min(max(count, 0), 8)
        np.testing.assert_array_equal(loaded[k], [*x[:n], *[0] * (8 - n)])
        np.testing.assert_array_equal(stored[k], [*x[:n], *[7] * (9 - n)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [3, 8])
def test_gathers_and_scatters(kind, count):
    """Narrow elements are read as words, which do not change their neighbors."""
    x = np.arange(-10, 10).astype(KINDS[kind])
    places = np.int64([17, 0, 3, 3, 18, 1, 2, 19])
    gathered, out = np.zeros(8, x.dtype), np.zeros(20, x.dtype)

    def write(e, px, pp, pg, po):
        mask = access.lanes_below(e, constant(count, "i64"), 8)
        value = access.gather(e, pointers(e, px, pp, kind), kind, mask)
        access.store_vector(e, value, pg, mask)
        access.scatter(e, value, pointers(e, po, pp, kind), mask)

    run(write, x, places, gathered, out)
    np.testing.assert_array_equal(gathered[:count], x[places[:count]])
    expected = np.zeros_like(out)
    expected[places[:count]] = x[places[:count]]
    np.testing.assert_array_equal(out, expected)


def test_the_last_of_equal_addresses_wins():
    places, out = np.int64([4] * 8), np.zeros(6, np.int16)

    def write(e, pp, po):
        value = access.constant_vector(tuple(range(1, 9)), "i16")
        mask = access.lanes_below(e, constant(5, "i64"), 8)
        access.scatter(e, value, pointers(e, po, pp, "i16"), mask)

    run(write, places, out)
    np.testing.assert_array_equal(out, [0, 0, 0, 0, 5, 0])


@pytest.mark.parametrize(
    ("lanes", "kind"),
    [(2, "i64"), (4, "i32"), (8, "i16"), (16, "i8"), (64, "i8"), (128, "i16")],
)
def test_lane_indices_fill_vectors_of_128_bits(lanes, kind):
    e = Emitter(X86_AVX512)
    access.lanes_from(e, Value("%n", "i64"), lanes)
    bits = access.BITS[kind] * lanes
    assert bits >= 128 and f"icmp uge <{lanes} x {kind}>" in e.lines[-1]


def test_functions_of_narrow_elements_are_written_once():
    e = Emitter(X86_AVX512)
    places, mask = Value("%p", "ptr", 8), Value("%m", "i1", 8)
    for _ in range(2):
        access.gather(e, places, "i8", mask)
        access.gather(e, places, "i16", mask)
    assert len(e.functions) == 2
    access.gather(e, places, "f32", mask)
    assert len(e.functions) == 2


def test_indices_are_extended_by_their_signedness():
    e = Emitter(X86_AVX512)
    x = Value("%x", "i32")
    access.as_i64(e, x, np.dtype(np.int32))
    access.as_i64(e, x, np.dtype(np.uint32))
    assert [line.split()[2] for line in e.lines] == ["sext", "zext"]
    wide = Value("%y", "i64")
    assert access.as_i64(e, wide, np.dtype(np.int64)) is wide
