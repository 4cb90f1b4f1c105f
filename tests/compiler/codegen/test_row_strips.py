"""Launches run strip after strip, with rows of a strip on the stack."""

import numpy as np
import pytest
from tests.compiler.written import call, loaded

from jitney.compiler.codegen import row_strips
from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import ANY_RANGE
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import host
from jitney.compiler.plan import ir

ROWS, WIDTH = 7, 33
SUMS = parse_kernel(
    f"kernel k(p0: float32, p1: float32) for i < {ROWS}, reduce j < {WIDTH} {{\n"
    f"  %0 = load p0[i*{WIDTH} + j] : float32\n  reduce add p1[i] <- %0\n}}"
)
SCALED = parse_kernel(
    f"kernel k(p0: float32, p1: float32, p2: float32) for i < {ROWS}, for j < {WIDTH} {{\n"
    f"  %0 = load p0[i*{WIDTH} + j] : float32\n  %1 = load p1[i] : float32\n"
    f"  %2 = sub %0, %1 : float32\n  store p2[i*{WIDTH} + j] <- %2\n}}"
)


def compiled(step):
    e = Emitter(host())
    names = {SUMS: "sums", SCALED: "scaled"}
    text = row_strips.function(step, "strips", e, lambda k: (names[k], False))
    kernels = [KernelWriter(k, host(), n, e, ANY_RANGE).text() for k, n in names.items()]
    text = text.replace("define internal", "define")
    return loaded("\n".join([*kernels, text, e.module_text()]), e.outlined)


@pytest.mark.parametrize("strip", [1, 3, 7])
def test_strips_make_the_whole(strip):
    """For any part of the strips: 12 bytes before the sums belong to another buffer."""
    x, out = ir.Buffer("input", 4 * ROWS * WIDTH), ir.Buffer("output", 4 * ROWS * WIDTH)
    sums = ir.Buffer("strip", 4 * strip, index=12)
    launches = (ir.Launch(SUMS, (x, sums)), ir.Launch(SCALED, (x, sums, out)))
    step = ir.RowStrips(ROWS, strip, launches)
    code = compiled(step)
    values = np.random.default_rng(0).integers(-9, 9, (ROWS, WIDTH)).astype(np.float32)
    found = np.full((ROWS + 1, WIDTH), 77, np.float32)
    slots = np.array([values.ctypes.data, found.ctypes.data])
    for begin, end in ((0, 1), (1, step.count)):
        assert call(code, "strips", np.zeros(1), slots, numbers=(begin, end)) == 1
        done = min(end * strip, ROWS)
        np.testing.assert_array_equal(found[done:], np.full((ROWS + 1 - done, WIDTH), 77))
    np.testing.assert_array_equal(found[:ROWS], values - values.sum(1, keepdims=True))


def test_kernels_of_other_modules_are_declared():
    x, y = ir.Buffer("input", 4 * ROWS * WIDTH), ir.Buffer("output", 4 * ROWS)
    e = Emitter(host())
    step = ir.RowStrips(ROWS, 2, (ir.Launch(SUMS, (x, y)),))
    text = row_strips.function(step, "strips", e, lambda k: ("k.other", True))
    assert "declare i32 @k.other(ptr, ptr, i64, i64)" in e.declarations
    assert "alloca [0 x i8]" in text and text.count("call i32 @k.other") == 1
