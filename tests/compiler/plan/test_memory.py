"""Buffer assignment: no two buffers that live at once share memory, and little is lost in holes."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jitney.compiler.plan import ir, memory

KB = 1 << 10
lives = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 4000 * KB)), max_size=40
)


def placed(lives):
    """Buffers with the lives (first use, length, bytes), where they were put, and the arena's size."""
    buffers = [ir.Buffer("arena", size) for _, _, size in lives]
    first = {b: begin for b, (begin, _, _) in zip(buffers, lives, strict=True)}
    last = {b: begin + n for b, (begin, n, _) in zip(buffers, lives, strict=True)}
    top = memory.place(buffers, first, last)
    return [(first[b], last[b], b.index, b.nbytes) for b in buffers], top


def most_alive(found):
    times = {begin for begin, _, _, _ in found}
    return max([sum([n for a, z, _, n in found if a <= t < z]) for t in times], default=0)


def check_apart(found, top):
    """Checks (first use, last use, offset, bytes) of buffers: none overlaps one that lives with it."""
    for i, (begin, end, at, n) in enumerate(found):
        assert at % memory.ALIGNMENT == 0 and at + n <= top
        for other_begin, other_end, other, m in found[:i]:
            together = other_begin < end and begin < other_end
            assert not together or at + n <= other or other + m <= at
    assert top >= most_alive(found)


@given(lives)
@settings(max_examples=200, deadline=None)
def test_what_lives_at_once_lies_apart(lives):
    check_apart(*placed(lives))


@given(lives)
@settings(max_examples=200, deadline=None)
def test_what_is_placed_by_size_lies_apart(lives):
    spans = [(begin, begin + n, -(-size // 64) * 64) for begin, n, size in sorted(lives)]
    offsets, top = memory._by_size(spans)
    check_apart([(*span[:2], at, span[2]) for span, at in zip(spans, offsets, strict=True)], top)


def test_a_gap_that_is_too_small_is_skipped():
    # The last lives with the second, at 10 KB, and with the third, at 0, but not with the first.
    lives = [(0, 2, 10 * KB), (1, 5, 8 * KB), (3, 5, 7 * KB), (3, 5, 6 * KB)]
    offsets, top = memory._by_size(lives)
    check_apart([(*life[:2], at, life[2]) for life, at in zip(lives, offsets, strict=True)], top)


@pytest.mark.parametrize("small", [0, 300])
def test_holes_that_matter_are_filled(small):
    # Best fit puts the second where the first was, and finds no room for the last, large one.
    mb = 1 << 20
    lives = [(0, 2, 4 * mb), (1, 9, 2 * mb), (2, 2, 2 * mb), (3, 9, 2 * mb), (5, 5, 6 * mb)]
    lives += [(k % 9, 2, 64) for k in range(small)]
    found, top = placed(lives)
    assert top <= 1.05 * most_alive(found)


def test_swapped_sizes_of_a_chain():
    """The chain of a training step: activations live until they are used again, in reverse."""
    rng = np.random.default_rng(0)
    sizes = [int(n) << 20 for n in rng.integers(1, 9, 12)]
    lives = [(k, 24 - 2 * k, n) for k, n in enumerate(sizes)]
    lives += [(24 - k, 2, n) for k, n in enumerate(sizes)]
    found, top = placed(lives)
    assert top <= 1.1 * most_alive(found)
