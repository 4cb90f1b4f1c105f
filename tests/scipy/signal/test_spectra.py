"""Spectral densities are SciPy's, add up to the power of the signal, and are refused as they should."""

import numpy as np
import pytest
import scipy.signal

import jitney
from jitney.scipy.signal.spectra import _median_bias, csd, welch

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 50))


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "options",
    [{}, {"scaling": "spectrum", "fs": 4.0}, {"average": "median", "nperseg": 7},
     {"return_onesided": False, "nfft": 20}, {"detrend": "linear", "noverlap": 0},
     {"window": "boxcar", "nfft": 9}],
)  # fmt: skip
def test_values(options):
    options = {"nperseg": 8} | options
    for found, wanted in (
        (csd(X, Y, **options), scipy.signal.csd(X, Y, **options)),
        (welch(X, **options), scipy.signal.welch(X, **options)),
    ):
        np.testing.assert_allclose(found[0], wanted[0])
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-11, atol=1e-13)


def test_densities_integrate_to_the_power():
    frequencies, density = welch(X, 2.0, "boxcar", 50, detrend=False)
    power = np.sum(density, -1) * (frequencies[1] - frequencies[0])
    np.testing.assert_allclose(power, np.mean(X**2, -1), rtol=1e-12)


def test_axes_and_shorter_signals():
    np.testing.assert_array_equal(welch(X.T, nperseg=8, axis=0)[1], welch(X, nperseg=8)[1].T)
    padded = np.pad(Y[:, :30], ((0, 0), (0, 20)))
    np.testing.assert_array_equal(csd(X, Y[:, :30], nperseg=8)[1], csd(X, padded, nperseg=8)[1])
    assert welch(np.zeros((2, 0)))[1].shape == (2, 0)


def test_median_of_exponential_variables():
    assert _median_bias(1) == 1
    np.testing.assert_allclose(_median_bias(3), 1 / 3 + 1 / 2)  # gaps between ordered variables
    np.testing.assert_allclose(_median_bias(100001), np.log(2), rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"average": "mode"}, "average must be"), ({"scaling": "power"}, "scaling must be"),
     ({"y": np.ones((2, 50))}, "must broadcast")],
)  # fmt: skip
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        csd(X, **({"y": Y, "nperseg": 8} | options))
