"""Programs are exact if each of their nodes has one correct result, bit for bit."""

import pytest

from jitney.compiler.hlo.exact import is_exact
from jitney.compiler.hlo.parse import parse_region


def exact(line, params="p0: float32[4,4], p1: int32[4,4]", result="%2"):
    return is_exact(parse_region(f"({params}) {{\n  {line}\n  return {result}\n}}"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%2 = mul p0, p0 : float32[4,4]", True),
        ("%2 = sqrt p0 : float32[4,4]", True),
        ("%2 = sin p0 : float32[4,4]", False),
        ("%2 = transpose p0 perm=(1,0) : float32[4,4]", True),
        ("%2 = reduce p0 fn=add dims=(0,) : float32[4]", False),
        ("%2 = reduce p0 fn=max dims=(0,) : float32[4]", True),
        ("%2 = reduce p1 fn=add dims=(0,) : int32[4]", True),
        ("%2 = cumulative p0 fn=add dim=0 reverse=False : float32[4,4]", True),
        ("%2 = cumulative p0 fn=logaddexp dim=0 reverse=False : float32[4,4]", False),
        ("%2 = dot p0, p0 contract=((1,),(0,)) batch=((),()) : float32[4,4]", False),
        ("%2 = dot p1, p1 contract=((1,),(0,)) batch=((),()) : int32[4,4]", True),
    ],
)
def test_single_nodes(line, expected):
    assert exact(line) is expected


def test_complex_numbers_are_inexact():
    line = "%1 = reverse p0 dims=(0,) : complex64[3]"
    assert not exact(line, "p0: complex64[3]", "%1")
    assert exact(line.replace("complex64", "float32"), "p0: float32[3]", "%1")


@pytest.mark.parametrize(
    ("combine", "unique", "expected"),
    [("", False, True), ("combine=add ", True, True), ("combine=add ", False, False)],
)
def test_scatters_are_exact_if_no_element_is_added_to_twice(combine, unique, expected):
    line = (
        "%3 = scatter p0, p1, p2 update_window_dims=() inserted_window_dims=(0,) "
        f"scatter_dims_to_operand_dims=(0,) {combine}mode=clip unique={unique} : float32[5]"
    )
    params = "p0: float32[5], p1: int32[3,1], p2: float32[3]"
    assert exact(line, params, "%3") is expected


def test_loops_count_as_inexact():
    region = """(p0: int32[]) {
  %1 = while p0 cond=(p0: int32[]) {
    %1 = constant False : bool[]
    return %1
  } body=(p0: int32[]) {
    return p0
  } : (int32[])
  %2 = project %1 index=0 : int32[]
  return %2
}"""
    assert not is_exact(parse_region(region))
