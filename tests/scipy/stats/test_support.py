"""Operands of distributions are of one floating dtype, and NaN parameters win over the support."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.scipy.stats.support import operands, supported


def test_integers_and_halves_promote_to_one_floating_dtype():
    found = operands("f", np.arange(3), jnp.ones((2, 1), "float16"), 2)
    assert {x.dtype for x in found} == {np.dtype("float16")}
    assert [x.shape for x in found] == [(1, 3), (2, 1), ()]
    assert operands("f", 1)[0].dtype == "float32"


def test_shapes_that_do_not_broadcast_are_a_type_error_of_the_function():
    with pytest.raises(TypeError, match=r"^norm\.pdf: "):
        operands("norm.pdf", np.zeros(2), np.zeros(3))


def test_nan_parameters_hide_what_is_outside():
    value = jnp.array([1.0, 2.0, 3.0, 4.0])
    outside = jnp.array([False, True, True, False])
    parameter = jnp.array([0.0, 0.0, np.nan, np.nan])
    found = supported(value, outside, -jnp.inf, parameter)
    np.testing.assert_array_equal(found, [1, -np.inf, np.nan, np.nan])
    np.testing.assert_array_equal(supported(value, outside, 0.5), [1, 0.5, 0.5, 4])
