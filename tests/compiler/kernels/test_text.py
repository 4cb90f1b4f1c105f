"""Kernels are printed with the letters of their axes, and loops with what they carry."""

import numpy as np
import pytest

from jitney.compiler.hlo.parse import ParseError
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Carried, Carry, While
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.text import axis_name, index_text, print_kernel
from jitney.core.util.record import replace

F32, BOOL = np.dtype(np.float32), np.dtype(bool)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (Affine(0, ()), "0"),
        (Affine(7, (0, 0)), "7"),
        (Affine(0, (1, 4)), "i + j*4"),
        (Affine(-3, (-1, 0)), "i*-1 + -3"),
        (Affine(0, (0,), ((2, 1), (5, 6))), "%2 + %5*6"),
    ],
)
def test_indices(index, text):
    assert index_text(index) == text


def test_axes_beyond_the_letters_are_numbered():
    names = [axis_name(k) for k in range(20)]
    assert names[0] == "i" and names[15:] == ["a15", "a16", "a17", "a18", "a19"]
    assert len(set(names)) == 20


def test_kernels():
    body = (
        ir.Load(0, Affine(0, (1, 8)), F32),
        ir.Const(np.float32(0.5).reshape(())),
        ir.Call("mul", (0, 1), F32),
    )
    outputs = (ir.Reduce(1, Affine(0, (1, 0)), "add", 2, 0),)
    kernel = ir.Kernel((8, 3), 1, (F32, F32), body, outputs, in_order=True)
    assert print_kernel(kernel, "k").splitlines() == [
        "kernel k(p0: float32, p1: float32) for i < 8, reduce j < 3 in order {",
        "  %0 = load p0[i + j*8] : float32",
        "  %1 = float32 0.5",
        "  %2 = mul %0, %1 : float32",
        "  reduce add p1[i] <- %2 * %0",
        "}",
    ]
    one, write = ir.Const(np.asarray(True)), ir.Store(0, Affine(2, ()), 0, 0)
    assert (
        print_kernel(ir.Kernel((), 0, (BOOL,), (one,), (write,))).splitlines()[2]
        == "  store p0[2] <- %0 where %0"
    )


def test_loops():
    carry = Carry(0, 1, Affine(0, (1,)), F32, True)
    body = (
        Carried(0, F32, True),
        ir.Call("neg", (0,), F32),
        ir.Call("lt", (0, 1), BOOL),
    )
    kernel = ir.Kernel((4,), 0, (F32, F32), body, (), loop=While((carry,), 2, (1,), 3))
    text = [
        "kernel k(p0: float32, p1: float32) for i < 4, while %2 (3 trips) {",
        "  carried 0 = p0[i] : float32 by lane",
        "  %0 = carried 0 : float32",
        "  %1 = neg %0 : float32",
        "  %2 = lt %0, %1 : bool",
        "  carried 0 <- %1",
        "  finally p1[i] <- carried 0",
        "}",
    ]
    assert print_kernel(kernel, "k").splitlines() == text
    for trips, head in ((3, text[0]), (None, text[0].replace(" (3 trips)", ""))):
        kernel = replace(kernel, loop=replace(kernel.loop, trips=trips))
        parsed = parse_kernel("\n".join([head, *text[1:]]))
        assert ir.kernel_key(parsed) == ir.kernel_key(kernel)


LOOP = """kernel k(p0: float32, p1: float32) for i < 4, while %2 {
  carried 0 = p0[i] : float32 by lane
  %0 = carried 0 : float32
  %1 = neg %0 : float32
  %2 = lt %0, %1 : bool
  carried 0 <- %1
  finally p1[i] <- carried 0
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  finally p1[i] <- carried 0\n", ""),
        ("  carried 0 <- %1\n", ""),
        (", while %2", ""),
        ("finally p1[i]", "finally p1[i + 7]"),
        ("<- carried 0", "<- carried 1"),
        ("carried 0 = p0", "carried 1 = p0"),
    ],
)
def test_loops_that_are_not_whole_are_rejected(old, new):
    assert print_kernel(parse_kernel(LOOP), "k") == LOOP
    with pytest.raises(ParseError):
        parse_kernel(LOOP.replace(old, new))
