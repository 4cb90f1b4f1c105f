"""The table emits code by name and dtype, computes halves in single precision, or returns None."""

import ml_dtypes
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import exponential
from jitney.compiler.scalar.table import code_of, emit


def emitted(fn, *arrays):
    dtype = arrays[-1].dtype
    return apply(lambda e, *xs: emit(e, fn, dtype, list(xs), dtype), *arrays)


def test_plain_rules_serve_floats():
    assert code_of("exp").floats is exponential.exp and code_of("exp").integers is None
    with pytest.raises(KeyError):
        code_of("no such function")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
def test_halves_are_rounded_once_from_single_precision(dtype):
    x = np.array([0.3, -2.0, 5.5, 1.0]).astype(dtype)
    wanted = np.exp(x.astype(np.float64)).astype(dtype)
    np.testing.assert_array_equal(emitted("exp", x).astype(float), wanted.astype(float))
    y = np.array([1, 3, -5.5, 1e-3]).astype(dtype)
    found = emitted("add", x, y).astype(float)
    np.testing.assert_array_equal(
        found, (x.astype(np.float32) + y.astype(np.float32)).astype(dtype)
    )


def test_signs_of_integers_are_those_of_the_dtype():
    x, y = np.array([200, 3], np.uint8), np.array([7, 200], np.uint8)
    np.testing.assert_array_equal(emitted("div", x, y), x // y)
    found = emitted("div", x.view(np.int8), y.view(np.int8))
    np.testing.assert_array_equal(found, [-8, 0])


def test_what_has_no_code_is_none():
    e, x, n = Emitter(X86_AVX2), Value("%x", "f32", 8), Value("%n", "i32", 8)
    f32, i32 = np.dtype("float32"), np.dtype("int32")
    assert emit(e, "exp", i32, [n], i32) is None
    assert emit(e, "and", f32, [x, x], f32) is None
    assert emit(e, "add", f32, [x, n], f32) is None
    assert emit(e, "add", np.dtype("complex64"), [x, x], f32) is None


def test_parts_of_complex_functions_are_rows():
    a, b = np.array([0.3, 3.0]), np.array([0.4, -4.0])
    for name, wanted in (
        ("csqrt_re", np.sqrt(a + 1j * b).real),
        ("csqrt_im", np.sqrt(a + 1j * b).imag),
    ):
        np.testing.assert_allclose(emitted(name, a, b), wanted, rtol=1e-15)
