"""Large arrays go to the evaluator with threads, small ones to NumPy; wrappers pick rules by dtype."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.scalar_functions import ufuncs


@pytest.fixture
def seen(monkeypatch):
    calls = []

    def evaluator(ufunc, xs):
        calls.append((ufunc, len(xs)))
        return ufunc(*xs) if ufunc is np.exp else None

    monkeypatch.setattr(ufuncs, "_threaded", None)
    ufuncs.use_threads(evaluator)
    return calls


def test_only_large_arrays_are_shared(seen):
    rule = ufuncs.by_ufunc(np.exp)
    small, large = np.zeros(3), np.zeros(ufuncs.LARGE)
    assert np.all(rule(small) == 1) and not seen
    assert np.all(rule(large) == 1) and seen == [(np.exp, 1)]
    assert rule.__name__ == "exp" and ufuncs.for_small(rule) == (np.exp, ufuncs.LARGE)


def test_what_the_evaluator_declines_is_left_to_numpy(seen):
    rule = ufuncs.by_ufunc(np.add, light=True)
    large = np.ones(ufuncs.LARGE_IF_LIGHT)
    np.testing.assert_array_equal(rule(np.ones(1), large), 2)
    assert seen == [(np.add, 2)]


def test_stand_ins_share_the_ufunc():
    inner = ufuncs.by_ufunc(np.expm1)
    rule = ufuncs.stand_in_for(inner, lambda x: np.expm1(x))
    assert ufuncs.for_small(rule) == ufuncs.for_small(inner)
    other = len
    assert ufuncs.stand_in_for(other, len) is len and ufuncs.for_small(len) == (len, 0)


def test_halves_and_complex_numbers_have_rules_of_their_own():
    seen = []
    rule = ufuncs.halves_in_float32(lambda *xs: seen.extend(x.dtype.name for x in xs) or xs[0])
    assert rule(np.ones(2, ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16
    assert rule(np.ones(2, np.int16)).dtype == "int16" and seen == ["float32", "int16"]
    rule = ufuncs.with_complex(lambda x, y: "real", lambda x, y: "complex")
    assert rule(np.ones(1), 1) == "real" and rule(np.ones(1, complex), 1) == "complex"


def test_nan_outside_a_domain_is_negative_whatever_the_c_library_returns():
    x = np.array([2.0, np.nan, 0.5, -1.0])
    negative = [True, False, False, False]
    for f in (np.arcsin, lambda x: np.abs(np.arcsin(x))):
        f = ufuncs._with_negative_nan(f)
        with np.errstate(invalid="ignore"):
            for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
                assert np.signbit(f(x.astype(dtype)))[:3].tolist() == negative[:3]
            assert np.signbit(f(x[0]))
        assert f(x[2:]).tolist() == [np.arcsin(0.5), f(x[3])]
    assert ufuncs._with_negative_nan(np.log)(np.array([-1j])).dtype == complex
    rule = ufuncs.by_ufunc(np.arccos, outside=2.0)
    small, _ = ufuncs.for_small(rule)
    x = np.array([2.0, 0.5, -1.0])  # NumPy may change the sign of a NaN operand
    with np.errstate(invalid="ignore"):
        assert np.signbit(rule(x)).tolist() == np.signbit(small(x)).tolist() == [True, False, False]
