"""Rows of the table: result dtypes from operands, which operands they take, error bounds."""

import numpy as np
import pytest

from jitney.compiler.scalar_functions import declaration as d

BOOL, F16, F32, F64, C64, C128 = map(np.dtype, ("bool", "f2", "f4", "f8", "c8", "c16"))


def test_result_dtypes():
    assert d.same([BOOL, F32, F32]) == F32 and d.boolean([F32]) == BOOL
    assert d.real([C64]) == F32 and d.real([F16]) == F16 and d.real_dtype(C128) == F64
    assert d.complex_of([F64, F64]) == C128


def test_operands_that_are_accepted():
    assert d.alike([F32, F32]) and not d.alike([F32, F64])
    assert d.complex_operands([C64, C64]) and not d.complex_operands([F32])
    assert d.parts_of_complex([F64, F64]) and not d.parts_of_complex([F16, F16])
    assert d.predicate_and_choices([BOOL, F16, F16])
    assert not d.predicate_and_choices([F16, F16, F16])
    assert not d.predicate_and_choices([BOOL, F16, F32])


def test_error_bounds():
    row = d.ScalarFunction("f", np.exp, ulp=(1, 2))
    assert [row.ulp_bound(t) for t in (F16, F32, F64)] == [0.6, 1, 2] and not row.is_exact
    assert d.ScalarFunction("g", np.add, operands=2).is_exact
    with pytest.raises(AssertionError, match="h has no error bound"):
        d.ScalarFunction("h", np.exp, ulp=None).ulp_bound(F32)


def test_access_to_rows():
    assert d.lookup("exp") is d.find("exp") and d.find("no such function") is None
    assert d.lookup("exp") in d.rows()
    with pytest.raises(KeyError):
        d.lookup("no such function")
