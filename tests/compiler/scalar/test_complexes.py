"""Functions of complex numbers, compiled as pairs: values, overflow that only formulas have, edges."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import complexes
from jitney.compiler.scalar_functions.complex_functions import COMPLEX_FUNCTIONS

Z = np.array([0.3 + 0.4j, -2 + 0.1j, 1.5 - 3j, -0.7 - 0.7j, 1e-5 + 1e-8j, 20 - 2j])
W = np.array([1 + 1j, 0.5 - 2j, 2.0, -1j, 0.3 + 0.1j, 2 + 0j])


def computed(rule, *operands):
    """Both components of rule(e, pairs), of complex arrays."""
    parts = [np.ascontiguousarray(p) for z in operands for p in (z.real, z.imag)]

    def part(which):
        return lambda e, *xs: rule(e, *zip(xs[::2], xs[1::2], strict=True))[which]

    return [apply(part(which), *parts) for which in (0, 1)]


@pytest.mark.parametrize(
    "name",
    ["sqrt", "exp", "expm1", "log", "log1p", "sinh", "cosh", "tanh", "sin", "cos", "tan", "exp2"],
)
def test_values(name):
    re, im = computed(getattr(complexes, name), Z)
    wanted = getattr(np, name)(Z)
    if name == "log1p":  # NumPy's cancels
        with mpmath.workdps(40):
            wanted = np.array([complex(mpmath.log(1 + mpmath.mpc(z))) for z in Z])
    np.testing.assert_allclose(re + 1j * im, wanted, rtol=2e-14)


def test_quotients_powers_and_signs():
    for rule, wanted in (
        (complexes.div, Z / W),
        (complexes.narrow_div, Z / W),
        (complexes.power, Z**W),
    ):
        re, im = computed(rule, Z, W)
        np.testing.assert_allclose(re + 1j * im, wanted, rtol=1e-13, atol=1e-15)
    re, im = computed(complexes.sign, np.append(Z, 0))
    np.testing.assert_allclose(re + 1j * im, np.append(Z / np.abs(Z), 0), rtol=1e-15)


def test_what_only_the_formula_would_overflow():
    large = np.array([1e300 + 1e300j, 1e-310 - 1e-310j])
    re, im = computed(complexes.div, large, large)
    np.testing.assert_allclose([re, im], [[1, 1], [0, 0]], atol=1e-15)
    re, im = computed(complexes.sqrt, large)
    np.testing.assert_allclose(re + 1j * im, np.sqrt(large), rtol=1e-14)
    parts = [large.real, large.imag]
    found = apply(lambda e, a, b: complexes.absolute(e, (a, b)), *parts)
    np.testing.assert_allclose(found, np.abs(large), rtol=1e-15)


def test_division_by_zero_and_by_infinities():
    top = np.array([1 + 2j, complex(np.inf, np.nan), 1 + 1j])
    bottom = np.array([0j, 1 + 1j, complex(np.inf, np.nan)])
    re, im = computed(complexes.div, top, bottom)
    np.testing.assert_array_equal(re, [np.inf, np.inf, 0])
    np.testing.assert_array_equal(im[[0, 2]], [np.inf, 0])


def test_branch_cut_of_the_root_follows_signs_of_zeros():
    z = np.array([complex(-4, 0.0), complex(-4, -0.0), 0j])
    re, im = computed(complexes.sqrt, z)
    np.testing.assert_array_equal(re, 0)
    np.testing.assert_array_equal(im, [2, -2, 0])


def test_single_precision_is_computed_in_double():
    huge = np.array([3e38 + 3e38j, 1e-30 + 0j], np.complex64)
    parts = [np.ascontiguousarray(p) for z in (huge, huge) for p in (z.real, z.imag)]
    found = apply(lambda e, *xs: complexes.evaluate(e, COMPLEX_FUNCTIONS["div"], xs)[0], *parts)
    np.testing.assert_array_equal(found, np.float32([1, 1]))
