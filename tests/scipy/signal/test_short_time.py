"""Short-time transforms are SciPy's, and their inverse gives the signal again."""

import numpy as np
import pytest
import scipy.signal

import jitney
from jitney.scipy.signal.short_time import istft, stft

X = np.random.default_rng(0).normal(size=(3, 50))


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "options",
    [{}, {"boundary": "even", "padded": False}, {"boundary": "odd", "noverlap": 3},
     {"boundary": "constant", "nfft": 20, "return_onesided": False}, {"boundary": None, "fs": 4.0},
     {"axis": 0, "nperseg": 3, "detrend": "linear"}],
)  # fmt: skip
def test_values(options):
    options = {"nperseg": 8} | options
    found, wanted = stft(X, **options), scipy.signal.stft(X, **options)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "options",
    [{"nperseg": 8}, {"nperseg": 9, "noverlap": 6}, {"nperseg": 8, "nfft": 16}],
)
def test_inverse(options):
    times, x = istft(stft(X, 2.0, **options)[2], 2.0, **options)
    np.testing.assert_allclose(x[:, :50], X, atol=1e-12)
    np.testing.assert_allclose(times, np.arange(x.shape[-1]) / 2)


def test_axes_of_spectra_may_stand_anywhere():
    z = np.moveaxis(stft(X, nperseg=8)[2], (1, 2), (2, 0))
    found = istft(z, nperseg=8, time_axis=0, freq_axis=2)[1]
    assert found.shape[1] == 3
    np.testing.assert_allclose(np.moveaxis(found, 0, -1)[:, :50], X, atol=1e-12)


def test_signals_without_elements():
    assert [x.shape for x in stft(np.zeros((2, 0)))] == [(2, 0)] * 3


def test_wrong_arguments():
    with pytest.raises(ValueError, match="boundary must be one of"):
        stft(X, boundary="wrap", nperseg=8)
    with pytest.raises(ValueError, match="at least 2 axes"):
        istft(X[0])
    with pytest.raises(ValueError, match="time and frequency axes must differ"):
        istft(X, time_axis=0, freq_axis=0)
