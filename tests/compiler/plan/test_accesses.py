"""The bytes that a step reads and writes follow from its indices."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.plan import ir
from jitney.compiler.plan.accesses import Access, accesses, reads_and_writes

A, B, C = [ir.Buffer("arena", 4000) for _ in range(3)]


def launch(axes, source, target):
    kernel = parse_kernel(
        f"kernel k(p0: float32, p1: int32, p2: float32) {axes} {{\n  %0 = load p1[3] : int32\n"
        f"  %1 = load p0[{source}] : float32\n  store p2[{target}] <- %1\n}}"
    )
    return ir.Launch(kernel, (A, B, C))


def found(step):
    return [(a.buffer, a.writes, a.start, a.end, a.moved) for a in accesses(step)]


def test_ranges_of_launches():
    step = launch("for i < 10, for j < 5", "i*20 + j + 2", "i*-1 + j*10 + 9")
    assert found(step) == [
        (B, False, 12, 16, 4),
        (A, False, 8, 4 * (2 + 9 * 20 + 4 + 1), 50 * 4),
        (C, True, 0, 4 * 50, 50 * 4),
    ]
    assert reads_and_writes(step) == ([A, B], [C])


def test_lines_of_scattered_elements_are_moved_whole():
    step = launch("for i < 9", "i*100", "i")
    assert found(step)[1][2:] == (0, 4 * 801, 9 * COSTS.line_bytes)


def test_indirect_accesses_may_be_anywhere():
    step = launch("for i < 9", "i + %0", "i")
    assert found(step)[1][2:4] == (0, 4000)


@pytest.mark.parametrize(
    ("second", "writes", "expected"),
    [((5, 9), True, True), ((5, 9), False, False), ((10, 12), True, False), ((0, 1), True, True)],
)
def test_overlapping_accesses_conflict_if_one_writes(second, writes, expected):
    first = Access(A, False, 0, 10, 10)
    other = Access(A, writes, *second, 4)
    assert first.conflicts(other) == other.conflicts(first) == expected


def test_steps_that_are_no_launches_access_whole_buffers():
    dtype = np.dtype(np.float32)
    gemm = ir.Gemm(A, B, C, dtype, 1, 2, 2, 2, False, False)
    assert reads_and_writes(gemm) == ([A, B], [C])
    gemm.adds = True
    assert reads_and_writes(gemm) == ([A, B, C], [C])
    assert reads_and_writes(ir.SwapBuffers(A, B)) == ([B], [A, B])
    assert found(ir.Copy(A, B)) == [(B, False, 0, 4000, 4000), (A, True, 0, 4000, 4000)]


def test_nested_steps_come_after_what_the_loop_itself_touches():
    loop = ir.Loop([ir.Copy(B, A)], B, [ir.Copy(C, A)])
    assert [(a.buffer, a.writes) for a in accesses(loop)] == [
        (B, True), (A, False), (B, True), (A, False), (C, True),
    ]  # fmt: skip


def test_strips_read_what_they_have_not_written():
    strip = ir.Buffer("strip", 400)
    kernel = launch("for i < 9", "i", "i").kernel
    steps = (ir.Launch(kernel, (A, B, strip)), ir.Launch(kernel, (strip, B, C)))
    steps += (ir.Launch(kernel, (C, B, A)),)
    reads, writes = reads_and_writes(ir.RowStrips(9, 3, steps))
    assert reads == [A, B, B, B] and writes == [C, A]
