"""Segments are cut and added again; windows and lengths that do not fit are refused."""

import numpy as np
import pytest
import scipy.signal

import jitney.numpy as jnp
from jitney.scipy.signal.segments import (
    Segments,
    cut,
    frequencies,
    is_onesided,
    overlap_add,
    segments,
    spectra,
    window_and_size,
)

F32 = np.dtype(np.float32)


def test_layouts():
    assert segments("f", 8, None, None) == Segments(8, 4, 8)
    assert segments("f", 7, 6, 16) == Segments(7, 1, 16)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, None, None), "nperseg=0"), ((4, 4, None), "noverlap=4"), ((4, -1, None), "noverlap=-1"),
     ((4, 0, 3), "nfft=3 is less than nperseg=4")],
)  # fmt: skip
def test_lengths_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        segments("f", *arguments)


@pytest.mark.parametrize(("size", "step"), [(4, 4), (4, 2), (5, 2), (3, 1)])
def test_overlapping_segments_are_cut_and_added(size, step):
    x = np.random.default_rng(0).normal(size=(2, 13)).astype(np.float32)
    parts = cut(jnp.array(x), Segments(size, step, size))
    count = (13 - size) // step + 1
    wanted = np.zeros((2, (count - 1) * step + size), np.float32)
    for i in range(count):
        np.testing.assert_array_equal(parts[:, i], x[:, i * step : i * step + size])
        wanted[:, i * step : i * step + size] += parts[:, i]
    np.testing.assert_allclose(overlap_add(parts, step), wanted, rtol=1e-5, atol=1e-6)


def test_windows():
    window, size = window_and_size("f", ("kaiser", 2.0), 8, 256, None, F32)
    np.testing.assert_allclose(window, scipy.signal.get_window(("kaiser", 2.0), 8), rtol=1e-6)
    assert size == 8 and window.dtype == F32
    assert window_and_size("f", np.ones(5), None, 256, 9, F32)[1] == 5
    with pytest.warns(
        UserWarning, match="nperseg=256 is greater than the length of the signal; using nperseg=9"
    ):
        assert window_and_size("f", "hann", None, 256, 9, F32)[1] == 9


@pytest.mark.parametrize(
    ("window", "size", "message"),
    [(np.ones((2, 2)), None, "must be a vector"), (np.ones(12), None, "longer than the signal"),
     (np.ones(5), 4, "it has 5 elements, and nperseg=4"), ("hann", 0, "nperseg=0")],
)  # fmt: skip
def test_windows_that_do_not_fit(window, size, message):
    with pytest.raises(ValueError, match=message):
        window_and_size("f", window, size, 256, 9, F32)


def test_spectra_are_of_windowed_parts_without_trend():
    x, window, plan = jnp.array(np.arange(8.0) ** 2), np.array([1, 2, 2, 1.0]), Segments(4, 4, 6)
    parts = np.asarray(x).reshape(2, 4)
    for detrend, trend in (
        (False, 0),
        ("constant", parts.mean(1, keepdims=True)),
        (lambda y: y - 1, 1),
    ):
        wanted = np.fft.rfft(window * (parts - trend), 6)
        np.testing.assert_allclose(
            spectra(x, window, plan, detrend, True), wanted, rtol=1e-5, atol=1e-4
        )


def test_frequencies_and_sides():
    plan = Segments(4, 2, 6)
    np.testing.assert_allclose(frequencies(plan, 12.0, True, F32), [0, 2, 4, 6])
    np.testing.assert_allclose(frequencies(plan, 12.0, False, F32), np.fft.fftfreq(6, 1 / 12))
    assert is_onesided("f", True, jnp.ones(2)) and not is_onesided("f", False, jnp.ones(2) * 1j)
    with pytest.warns(UserWarning, match="return_onesided is set to False"):
        assert not is_onesided("f", True, jnp.ones(2), jnp.ones(2) * 1j)
