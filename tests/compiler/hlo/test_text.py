"""Numbers and programs are printed such that the text names exactly the same bits."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.text import array_text, number_text, parse_number, print_module

F32 = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float32(1), "1.0"),
        (np.float32(-0.0), "-0.0"),
        (np.float32(1e-45), "1e-45"),
        (np.float64(-np.inf), "-inf"),
        (np.float32(np.nan), "nan"),
        (np.uint32(0x7FC00001).view(np.float32), "0x7fc00001"),
        (np.bool_(True), "True"),
        (np.int8(-128), "-128"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.complex64(1.5 - 0.1j), "1.5:-0.1"),
        (np.uint16(0x7C01).view(np.float16), "0x7c01"),
    ],
)
def test_numbers_are_decimals_where_these_are_exact(number, text):
    assert number_text(number) == text
    found = parse_number(text, number.dtype)
    assert found.dtype == number.dtype and found.tobytes() == number.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2])
def test_all_bits_of_small_formats_are_read_back(dtype):
    kind = np.uint8 if np.dtype(dtype).itemsize == 1 else np.uint16
    step = 1 if kind == np.uint8 else 251
    values = np.arange(0, np.iinfo(kind).max + 1, step).astype(kind).view(dtype)
    texts = [number_text(x) for x in values]
    found = np.array([parse_number(t, values.dtype).view(kind) for t in texts])
    np.testing.assert_array_equal(found, values.view(kind))


@pytest.mark.parametrize("text", ["1.2.3", "0xzz"])
def test_other_words_are_no_numbers(text):
    with pytest.raises(ValueError):
        parse_number(text, F32)


def test_long_constants_are_shortened_to_their_first_numbers():
    values = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert array_text(values) == "{0, 1, 2, 3, 4, 5}"
    assert array_text(values, elide_above=5) == "{0, 1, 2, 3, ...}"
    assert array_text(values[:0]) == "{}"


def test_a_node_that_is_used_twice_is_printed_once():
    b = Builder()
    x = b.parameter(0, TensorType((2, 3), F32))
    y = b.apply("sin", b.transpose(x, (1, 0)))
    module = b.module("f", [x], [b.apply("add", y, y), y])
    assert print_module(module).splitlines() == [
        "module f(p0: float32[2,3]) {",
        "  %1 = transpose p0 perm=(1,0) : float32[3,2]",
        "  %2 = sin %1 : float32[3,2]",
        "  %3 = add %2, %2 : float32[3,2]",
        "  return %3, %2",
        "}",
    ]
    noted = print_module(module, note=lambda node: f"  # {len(node.shape)}")
    assert noted.count("  # 2\n") == 3


def test_nested_regions_are_indented():
    b = Builder()
    x = b.parameter(0, TensorType((), F32))
    out = b.for_(3, [x], lambda inner, i, c: [inner.apply("neg", c)])
    text = print_module(b.module("f", [x], out))
    assert "\n    %2 = constant 3 : int32[]\n" in text
    assert (
        " cond=(p0: int32[], p1: float32[]) {\n" in text
        and "\n  } : (int32[], float32[])\n" in text
    )
