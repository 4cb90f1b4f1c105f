"""Pytrees are compared with tolerances by dtype."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.private.stand_ins.checks import check_close, default_tolerance, tolerance


def test_a_tolerance_is_one_for_all_one_of_its_dtype_or_the_default():
    assert tolerance("float32", 0.5) == 0.5
    assert tolerance(np.float32, {"float32": 0.25}) == 0.25
    assert tolerance(np.float64, {"float32": 0.25}) == default_tolerance()[np.dtype("float64")]
    assert tolerance(np.int32) == 0 and tolerance(jnp.bfloat16) == 1e-2


def test_leaves_are_close_up_to_the_larger_tolerance():
    x = {"a": np.float32(1), "b": np.arange(3)}
    check_close(x, {"a": np.float16(1.0009), "b": np.arange(3)})
    with pytest.raises(AssertionError):
        check_close(x, {"a": np.float32(1.0009), "b": np.arange(3)})
    check_close(x, {"a": np.float32(1.0009), "b": np.arange(3)}, rtol={np.float32: 1e-3})
    with pytest.raises(AssertionError):
        check_close(np.arange(3), np.arange(3) + 1)
    check_close(np.arange(3), np.arange(3) + 1, atol=1)


def test_structures_are_equal():
    for other in [1.0], [1.0, 2.0, 3.0], {"a": 1.0, "b": 2.0}:
        with pytest.raises(AssertionError):
            check_close((1.0, 2.0), other)
