"""Rows of components compute the real and the imaginary part of the whole complex function."""

import numpy as np
import pytest

from jitney.compiler.scalar_functions import lookup
from jitney.compiler.scalar_functions.complex_functions import COMPLEX_FUNCTIONS

A, B = np.array([0.3, -2.0, 0.5]), np.array([0.4, 1.5, -0.25])


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_parts_join_to_the_whole(name):
    function = COMPLEX_FUNCTIONS[name]
    operands = [A, B, B, A][: 2 * function.operands]
    parts = [lookup(part).reference(*operands) for part in function.parts]
    numbers = [re + 1j * im for re, im in zip(operands[::2], operands[1::2], strict=True)]
    whole = lookup(name).reference(*numbers)
    joined = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    np.testing.assert_array_equal(joined, whole)
    assert sum(lookup(part).cost for part in function.parts) <= function.cost


def test_absolute_values_have_one_part():
    assert COMPLEX_FUNCTIONS["abs"].parts == ("cabs",)
    np.testing.assert_allclose(lookup("cabs").reference(np.array([3.0]), np.array([-4.0])), 5)
