"""The text of a kernel is parsed to the same kernel; errors name their line."""

import pytest

from jitney.compiler.hlo.parse import ParseError
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.text import print_kernel

TEXTS = {
    "no axis": "kernel k(p0: int8) {\n  %0 = int8 -3\n  store p0[0] <- %0\n}",
    "indirect": """kernel k(p0: float32, p1: int32, p2: float32) for i < 5, for j < 3 {
  %0 = load p1[i] : int32
  %1 = load p0[j*-1 + %0*3 + 2] : float32
  %2 = index i*3 + j : int64
  %3 = convert %2 : float32
  %4 = mul %1, %3 : float32
  %5 = lt %4, %1 : bool
  store p2[i*3 + j] <- %4 where %5
}""",
    "reduction": """kernel k(p0: bfloat16, p1: float32) for i < 4, reduce j < 6 in order {
  %0 = load p0[i*6 + j] : bfloat16
  %1 = convert %0 : float32
  %2 = float32 -0.0
  reduce add p1[i] <- %1 * %2
  reduce max p1[i + 4] <- %1
}""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_kernels_are_read_back(name):
    assert print_kernel(parse_kernel(TEXTS[name]), "k") == TEXTS[name]


def test_what_is_read():
    kernel = parse_kernel(TEXTS["indirect"])
    assert (kernel.extents, kernel.reduced, kernel.in_order) == ((5, 3), 0, False)
    assert kernel.body[1].index == ir.Affine(2, (0, -1), ((0, 3),))
    reduction = parse_kernel(TEXTS["reduction"])
    assert (reduction.parallel, reduction.reduced, reduction.in_order) == ((4,), 1, True)
    assert [o.factor for o in reduction.outputs] == [2, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel k(p0: int8) {\n  %0 = int8 1", "this is not the text of one kernel"),
        ("kernel k(p0: int8) {\n  %1 = int8 1\n}", "line 2: .*statements are numbered from 0"),
        ("kernel k(p0: int8) {\n  %0 = int8 1\n  store p0[i] <- %0\n}", "line 3"),
        ("kernel k(p0: int8) for j < 3 {\n}", r"axes \['j'\]"),
        ("kernel k(p0: int8) {\n  %0 = int9 1\n}", "line 2: .*int9"),
    ],
)
def test_errors_name_their_line(text, message):
    with pytest.raises(ParseError, match=message):
        parse_kernel(text)
