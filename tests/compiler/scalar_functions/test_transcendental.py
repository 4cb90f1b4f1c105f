"""References of transcendental functions: edges that NumPy has otherwise, and 16-bit floats."""

import ml_dtypes
import numpy as np

from jitney.compiler.scalar_functions import lookup

INF = np.inf


def compute(name, *xs):
    return lookup(name).reference(*xs)


def test_halves_are_computed_in_single_precision():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        x = np.array([0.3, 5.0, 9.5]).astype(dtype)
        wide = x.astype(np.float32)
        for name, wanted in (("logistic", 1 / (1 + np.exp(-wide))), ("rsqrt", 1 / np.sqrt(wide))):
            found = compute(name, x)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.astype(float), wanted.astype(dtype).astype(float))


def test_roots_by_powers():
    x = np.array([-INF, -0.0, 4.0, INF])
    with np.errstate(invalid="ignore"):
        found = compute("pow", x, np.broadcast_to(0.5, 4))
    np.testing.assert_array_equal(found, [INF, 0, 2, INF])
    assert not np.signbit(found[1])


def test_small_complex_numbers_keep_their_digits():
    z = np.array([1e-5 + 1e-8j, -1e-9 + 1e-12j])
    exact = z - z**2 / 2 + z**3 / 3
    found = compute("log1p", z)
    np.testing.assert_allclose(found.real, exact.real, rtol=1e-12)
    np.testing.assert_allclose(found.imag, exact.imag, rtol=1e-12)


def test_sums_of_exponentials_do_not_overflow():
    np.testing.assert_allclose(
        compute("logaddexp", np.array([1e3]), np.array([1e3])), 1e3 + np.log(2)
    )
    z, w = np.array([1e3 + 1j, complex(-INF, 0)]), np.array([999 + 2j, complex(-INF, 0)])
    found = compute("logaddexp", z, w)
    shift = np.log(np.exp(1j) + np.exp(-1 + 2j))
    np.testing.assert_allclose(found[0], 1e3 + shift, rtol=1e-14)
    assert found[1].real == -INF


def test_angles_continue_to_complex_numbers():
    found = compute("atan2", np.array([1 + 0j, 0.5 + 0.5j]), np.array([1 + 0j, 1 + 0j]))
    np.testing.assert_allclose(found, [np.pi / 4, np.arctan(0.5 + 0.5j)], rtol=1e-14)
