"""Each rewrite rule keeps the bits of results, and leaves what it would change."""

import numpy as np
import pytest

from jitney.compiler.hlo.interpret import run
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.passes import simplify
from jitney.compiler.hlo.text import print_module

CONSTANTS = {
    "one": "constant 1.0", "two": "constant 2.0", "three": "constant 3.0", "zero": "constant 0.0",
    "minus_zero": "constant -0.0", "yes": "constant True", "tiny": "constant 1e-45",
}  # fmt: skip
X = np.float32([[0.0, -0.0, 1.5], [np.nan, np.inf, -3e38]])


def module(lines, params="p0: float32[2,3]"):
    """A program of lines `%5 = ...`, which may use the repeated scalars %one, %zero ..."""
    text, numbers = [], {}
    for name, word in CONSTANTS.items():
        if f"%{name}" in lines:
            k = 100 + 2 * len(numbers)
            dtype = "bool" if name == "yes" else "float32"
            text += [
                f"%{k} = {word} : {dtype}[]",
                f"%{k + 1} = broadcast %{k} dims=() : {dtype}[2,3]",
            ]
            numbers[name] = k + 1
    for name, k in sorted(numbers.items(), key=lambda pair: -len(pair[0])):
        lines = lines.replace(f"%{name}", f"%{k}")
    last = lines.strip().splitlines()[-1].split()[0]
    return parse_module(
        f"module f({params}) {{\n" + "\n".join([*text, lines, f"return {last}\n}}"])
    )


def simplified(rule, lines, params="p0: float32[2,3]", values=(X,)):
    """The text of the last line's value after `rule` alone, which keeps all bits."""
    program = module(lines, params)
    new = simplify.run(program, simplify.rule_alone(rule))
    for x, y in zip(run(program, values), run(new, values), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    return [line.strip().split(" : ")[0] for line in print_module(new).splitlines()[1:-1]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mul p0, %one", True), ("mul %one, p0", True), ("add p0, %minus_zero", True),
        ("add p0, %zero", False), ("sub p0, %zero", True), ("sub p0, %minus_zero", False),
        ("sub %zero, p0", False), ("div p0, %one", True), ("div %one, p0", False),
        ("mul p0, %two", False),
    ],
)  # fmt: skip
def test_neutral_operands(line, expected):
    found = simplified("neutral_operand", f"%5 = {line} : float32[2,3]")
    assert (found == ["return p0"]) is expected


@pytest.mark.parametrize(("by", "expected"), [("two", True), ("three", False), ("tiny", False)])
def test_divisions_by_powers_of_two_are_products(by, expected):
    found = simplified("division_by_power_of_two", f"%5 = div p0, %{by} : float32[2,3]")
    assert any(" = mul " in line for line in found) is expected


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("float32", "float64", "float32"), 0),
        (("float32", "float16", "float32"), 2),
        (("int32", "float32", "float64"), 2),
        (("int16", "float32", "float64"), 1),
        (("int16", "float32", "int8"), 2),  # integers wrap, floats are clamped
        (("int8", "int32", "uint8"), 1),
        (("uint8", "int8", "int32"), 2),
    ],
)
def test_lossless_conversions_are_skipped(types, expected):
    first, middle, last = types
    value = np.array([-1, 0, 7, 300]).astype(first)
    lines = f"%1 = convert p0 : {middle}[4]\n%2 = convert %1 : {last}[4]"
    found = simplified("convert_of_convert", lines, f"p0: {first}[4]", [value])
    assert sum(" = convert " in line for line in found) == expected


def test_chosen_operands():
    lines = "%5 = neg p0 : float32[2,3]\n%6 = select %yes, %5, p0 : float32[2,3]"
    assert simplified("select_of_constant", lines) == ["%1 = neg p0", "return %1"]


def test_functions_of_repeated_scalars_are_computed_once():
    found = simplified("apply_to_scalars", "%5 = add %two, %three : float32[2,3]")
    assert found == ["%1 = constant 5.0", "%2 = broadcast %1 dims=()", "return %2"]


def test_slices_of_slices_and_of_parts():
    lines = (
        "%1 = slice p0 starts=(0,0) limits=(2,3) strides=(1,2) : float32[2,2]\n"
        "%2 = slice %1 starts=(1,1) limits=(2,2) strides=(1,1) : float32[1,1]"
    )
    found = simplified("slice_of_simple", lines)
    assert found == ["%1 = slice p0 starts=(1,2) limits=(2,3) strides=(1,2)", "return %1"]
    lines = (
        "%1 = neg p0 : float32[2,3]\n%2 = concatenate p0, %1 dim=1 : float32[2,6]\n"
        "%3 = slice %2 starts=(0,{}) limits=(2,{}) strides=(1,1) : float32[2,2]"
    )
    assert not any("concatenate" in x for x in simplified("slice_of_simple", lines.format(3, 5)))
    assert any("concatenate" in x for x in simplified("slice_of_simple", lines.format(2, 4)))


def test_sums_of_one_element_are_never_negative_zero():
    value = np.float32([[0.0], [-0.0], [2.0]])
    line = "%1 = reduce p0 fn={} dims=(1,) : float32[3]"
    found = simplified("reduce_of_one", line.format("add"), "p0: float32[3,1]", [value])
    assert any(" = add " in x for x in found)
    found = simplified("reduce_of_one", line.format("max"), "p0: float32[3,1]", [value])
    assert found == ["%1 = reshape p0", "return %1"]


@pytest.mark.parametrize("index", [-1, 0, 4, 5])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_single_windows_are_updates_of_slices(index, mode):
    line = (
        "%3 = scatter p0, p1, p2 update_window_dims=() inserted_window_dims=(0,) "
        f"scatter_dims_to_operand_dims=(0,) combine=add mode={mode} unique=False : float32[5]"
    )
    values = [np.arange(5, dtype=np.float32), np.int32([[index]]), np.float32([10])]
    params = "p0: float32[5], p1: int32[1,1], p2: float32[1]"
    found = simplified("scatter_of_one_window", line, params, values)
    assert not any("scatter" in x for x in found)


def test_products_over_one_element_are_elementwise():
    line = "%2 = dot p0, p1 contract=((1,),(0,)) batch=((),()) : float32[3,2]"
    values = [np.float32([[1], [-0.0], [2]]), np.float32([[3, -0.0]])]
    found = simplified("dot_of_one_product", line, "p0: float32[3,1], p1: float32[1,2]", values)
    assert not any(" = dot " in x for x in found)


def test_functions_that_compiled_code_rounds_otherwise_are_not_folded():
    lines = "%1 = constant 0.5 : float32[]\n%2 = {} %1 : float32[]"
    assert simplified("fold_constants", lines.format("sqrt"), "", []) == [
        "%0 = constant 0.70710677", "return %0",
    ]  # fmt: skip
    assert len(simplified("fold_constants", lines.format("sin"), "", [])) == 3


def test_rules_are_chosen_by_name():
    names = simplify.rule_names()
    for name in ("fold_constants", "transpose_of_dot"):
        alone, others = simplify.rule_alone(name), simplify.rules_without(name)
        assert {r.__name__ for rules in alone.values() for r in rules} == {name}
        assert {r.__name__ for rules in others.values() for r in rules} == {*names} - {name}
