"""`jax.scipy.signal` against SciPy in double precision, and against real jax."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest
import scipy.signal
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp

RNG = np.random.default_rng(0)
ours = jitney.scipy.signal


def draw(*shape, dtype=np.float64):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def close(got, want, factor=100):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    limit = factor * np.finfo(got.dtype).eps * max(np.abs(want).max(initial=0), 1)
    np.testing.assert_allclose(got, want, rtol=0, atol=limit)


@pytest.fixture
def x64():
    with jitney.enable_x64(True):
        yield


MODES = ["full", "same", "valid"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_convolve_and_correlate(name, mode, dtype, x64):
    for shapes in (
        ((7,), (4,)),
        ((7,), (3,)),
        ((3,), (8,)),
        ((4, 5), (2, 5)),
        ((3, 4, 3), (2, 2, 2)),
    ):
        x, y = (draw(*shape, dtype=dtype) for shape in shapes)
        # JAX's "same" of even kernels, and "valid" of a longer second operand, are convolutions'.
        kernel = np.flip(y).conj() if name == "correlate" else y
        want = scipy.signal.convolve(x, kernel, mode, method="direct")
        for method in ("direct", "fft", "auto"):
            got = getattr(ours, name)(x, y, mode, method)
            assert got.dtype == dtype
            close(got, want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_planes(name, mode, x64):
    for shapes in (((5, 6), (3, 2)), ((4, 4), (4, 3)), ((2, 3), (4, 3))):
        x, y = (draw(*shape, dtype=np.complex128) for shape in shapes)
        for boundary, fill in (("fill", 0), ("fill", 2.5), ("wrap", 0), ("symm", 0)):
            got = getattr(ours, name)(x, y, mode, boundary, fill)
            close(got, getattr(scipy.signal, name)(x, y, mode, boundary, fill))


@pytest.mark.parametrize("mode", MODES)
def test_fftconvolve_along_axes(mode, x64):
    x, y = draw(2, 11, 3), draw(2, 4, 1)
    for axes in (1, (1,), (-2, 0), None):
        if mode != "valid" or axes is not None:
            close(ours.fftconvolve(x, y, mode, axes), scipy.signal.fftconvolve(x, y, mode, axes))
    assert ours.fftconvolve(draw(2, 3), np.ones((2, 3)), mode, ()).shape == (2, 3)
    if mode == "full":
        x, y = draw(2, 5), draw(3, 4)
        close(ours.fftconvolve(x, y), scipy.signal.convolve(x, y, method="direct"))
        none = np.ones(0)

        def shape(j):
            return j.scipy.signal.fftconvolve(np.ones(5), none).shape

        assert shape(jitney) == of_jax(shape)


def test_lengths_of_transforms():
    from jitney.scipy.signal.convolutions import _good_length

    smooth = sorted(
        2**a * 3**b * 5**c for a, b, c in itertools.product(range(14), range(9), range(7))
    )
    for n in (0, *range(1, 300), 8193):
        assert _good_length(n) == next(m for m in smooth if m >= n)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_detrend(dtype, x64):
    x = draw(3, 12, 2, dtype=dtype)
    for axis, bp in ((1, 0), (1, [3, 7]), (-2, 5), (0, 0), (-1, 1)):
        close(ours.detrend(x, axis, bp=bp), scipy.signal.detrend(x, axis, bp=bp))
    for kind in ("constant", "c", "l"):
        close(ours.detrend(x, 1, kind), scipy.signal.detrend(x, 1, kind))
    assert ours.detrend(x[:, :0], 1).shape == (3, 0, 2)


@pytest.mark.parametrize("kind", ["constant", "linear"])
def test_detrend_of_a_numpy_array_is_an_array(kind):
    assert isinstance(ours.detrend(np.arange(3, dtype=np.float32), type=kind), jitney.Array)


STFT = [
    {},
    {"nperseg": 16, "noverlap": 4, "window": "hamming", "boundary": "even"},
    {"nperseg": 15, "nfft": 20, "fs": 8.0, "boundary": "odd", "detrend": "linear"},
    {"nperseg": 16, "window": ("tukey", 0.3), "boundary": "constant", "detrend": "constant"},
    {"nperseg": 16, "noverlap": 15, "boundary": None, "padded": False},
    {"nperseg": 16, "window": np.hanning(16), "padded": False, "return_onesided": False},
    {"nperseg": 8, "detrend": lambda parts: 2 * parts, "fs": 2},
]


@pytest.mark.parametrize("options", STFT)
@pytest.mark.filterwarnings("ignore:.*(greater than|return_onesided|complex)")
def test_stft(options, x64):
    for x, axis in (
        (draw(83), -1),
        (draw(2, 70), 1),
        (draw(70, 2), 0),
        (draw(40, dtype=complex), -1),
    ):
        want = scipy.signal.stft(x, axis=axis, **options)
        got = ours.stft(x, axis=axis, **options)
        for a, b in zip(got, want, strict=True):
            close(a, b)


@pytest.mark.parametrize("options", [
    {}, {"noverlap": 5, "boundary": False}, {"nperseg": 15, "noverlap": 12},
    {"nfft": 20, "nperseg": 13, "fs": 4.0}, {"input_onesided": False, "noverlap": 8},
    {"window": np.hamming(16), "nperseg": 16},
])  # fmt: skip
def test_istft(options, x64):
    with warnings.catch_warnings():
        # SciPy says where windows do not add up; results are compared all the same.
        warnings.simplefilter("ignore")
        bins = 11 if "nfft" in options else 8 if options.get("nperseg") == 15 else 9
        for shape, axes in (((bins, 7), (-1, -2)), ((7, 2, bins), (0, 2)), ((2, bins, 7), (2, 1))):
            z = draw(*shape, dtype=np.complex128)
            axes = {"time_axis": axes[0], "freq_axis": axes[1]}
            times, x = ours.istft(z, **options, **axes)
            _, want = scipy.signal.istft(z, **options, **axes)
            close(x, want)
            # SciPy counts along the first axis, whichever the signal's is.
            axis = 1 if shape[0] == 2 else 0
            close(times, np.arange(want.shape[axis]) / options.get("fs", 1.0))


def test_there_and_back(x64):
    x = draw(3, 100)
    for noverlap in (8, 12, 13):
        _, _, spectra = ours.stft(x, nperseg=16, noverlap=noverlap)
        close(ours.istft(spectra, nperseg=16, noverlap=noverlap)[1][:, :100], x)


CSD = [
    {},
    {"nperseg": 16, "scaling": "spectrum", "detrend": False, "fs": 3.0},
    {"nperseg": 15, "noverlap": 3, "average": "median", "detrend": "linear"},
    {"nperseg": 16, "nfft": 21, "window": "boxcar", "return_onesided": False},
    {"window": np.hamming(12), "average": "median"},
]


@pytest.mark.parametrize("options", CSD)
@pytest.mark.filterwarnings("ignore:.*(greater than|return_onesided|complex)")
def test_csd_and_welch(options, x64):
    x, y = draw(1, 2, 90), draw(3, 1, 90)
    reverse = x.T[::-1]
    short = draw(1, 2, 70)
    pairs = [
        (scipy.signal.csd(x, y, **options), ours.csd(x, y, **options)),
        (scipy.signal.csd(short, x, **options), ours.csd(short, x, **options)),
        (scipy.signal.csd(x.T, reverse, axis=0, **options), ours.csd(x.T, reverse, axis=0, **options)),
        (scipy.signal.welch(x, **options), ours.welch(x, **options)),
        (scipy.signal.welch(x + 1j, **options), ours.welch(x + 1j, **options)),
    ]  # fmt: skip
    for want, got in pairs:
        for a, b in zip(got, want, strict=True):
            assert a.dtype == b.dtype
            close(a, b)


CALLS = {
    "convolve": lambda s, x: s.convolve(x, x[:5]),
    "fftconvolve": lambda s, x: s.fftconvolve(x, x[:5], "same"),
    "detrend": lambda s, x: s.detrend(x, bp=10),
    "stft": lambda s, x: abs(s.stft(x, nperseg=8)[2]),
    "istft": lambda s, x: s.istft(x.reshape(5, 6), nperseg=8)[1],
    "welch": lambda s, x: s.welch(x, nperseg=8)[1],
    "csd": lambda s, x: abs(s.csd(x, x[:20], nperseg=8)[1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_transformations(name):
    x = draw(30)

    def call(x):
        return CALLS[name](ours, x)

    f, narrow = CALLS[name], np.ones(30, np.float32)

    def type_of(j):
        found = j.eval_shape(lambda x: f(j.scipy.signal, x), narrow)
        return found.shape, np.dtype(found.dtype)

    assert type_of(jitney) == of_jax(type_of)
    with jitney.enable_x64(True):
        value, dx = call(x), draw(30)
        close(jitney.jit(call)(x), value)
        close(jitney.vmap(call)(np.stack([x, 2 * x]))[0], value)
        _, slope = jitney.jvp(call, (x,), (dx,))
        step = 1e-6
        want = (call(x + step * dx) - call(x - step * dx)) / (2 * step)
        np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-7)
        _, pullback = jitney.vjp(call, x)
        ct = draw(*value.shape)
        np.testing.assert_allclose(pullback(ct)[0] @ dx, np.vdot(ct, slope), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*greater than")
def test_narrow_floats_integers_and_traced_rates():
    half = jnp.arange(6, dtype=jnp.bfloat16)
    assert ours.fftconvolve(half, half).dtype == jnp.bfloat16
    assert ours.stft(half, nperseg=4)[2].dtype == np.complex64
    assert ours.convolve(jnp.arange(4), jnp.arange(3)).dtype == np.float32
    got = jitney.jit(lambda x, fs: ours.welch(x, fs, nperseg=8))(draw(30), 2.0)
    assert got[0][-1] == 1.0
    empty = np.zeros((3, 0), np.float32)
    wanted = of_jax(lambda j: j.scipy.signal.stft(empty))
    for a, b in zip(ours.stft(empty), wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert ours.welch(empty)[1].shape == (3, 0)


def test_no_call_of_python():
    program = jitney.jit(lambda x: ours.istft(ours.stft(x, nperseg=16)[2], nperseg=16)[1])
    text = program.lower(jnp.ones(200)).as_text("kernels")
    assert "host_call" not in text
    assert set(re.findall(r"library_call (\w+)", text)) == {"fourier"}  # native code


ERRORS = [
    (ValueError, "`mode` must be 'full', .*'other'", lambda s, x: s.convolve(x, x, "other")),
    (ValueError, "method", lambda s, x: s.convolve(x, x, method="other")),
    (ValueError, r"the same rank, .*\(20,\) and \(1, 20\)", lambda s, x: s.convolve(x, x[None])),
    (ValueError, r"must not be empty, .*\(20,\) and \(0,\)", lambda s, x: s.correlate(x, x[:0])),
    (ValueError, r"as large as .*5\) and \(1, 20", lambda s, x: s.convolve(x.reshape(4, 5), x[None])),
    (ValueError, "must be matrices", lambda s, x: s.convolve2d(x, x)),
    (NotImplementedError, "overwrite_data", lambda s, x: s.detrend(x, overwrite_data=True)),
    (ValueError, "detrend.*: `type` must be .*'other'", lambda s, x: s.detrend(x, type="other")),
    (ValueError, "`bp` must be indices from 0 to 20", lambda s, x: s.detrend(x, bp=[30])),
    (ValueError, "out of bounds", lambda s, x: s.fftconvolve(x, x, axes=(2,))),
    (ValueError, "oundary", lambda s, x: s.stft(x, boundary="other", nperseg=8)),
    (ValueError, "nfft", lambda s, x: s.stft(x, nperseg=8, nfft=4)),
    (ValueError, "noverlap", lambda s, x: s.stft(x, nperseg=8, noverlap=8)),
    (ValueError, "nperseg=0", lambda s, x: s.stft(x, nperseg=0)),
    (ValueError, "7 elements, and nperseg=8", lambda s, x: s.stft(x, nperseg=8, window=np.ones(7))),
    (ValueError, "window", lambda s, x: s.stft(x, nperseg=8, window="other")),
    (ValueError, "differ", lambda s, x: s.istft(x.reshape(4, 5), time_axis=0, freq_axis=0)),
    (ValueError, "at least", lambda s, x: s.istft(x)),
    (ValueError, "average", lambda s, x: s.welch(x, nperseg=8, average="other")),
    (ValueError, "scaling", lambda s, x: s.welch(x, nperseg=8, scaling="other")),
    (ValueError, "broadcast", lambda s, x: s.csd(x.reshape(2, 10), x[:15].reshape(3, 5))),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "call"), ERRORS)
@pytest.mark.filterwarnings("ignore:.*greater than")
def test_errors(error, message, call):
    x = np.arange(20, dtype=np.float32)
    with pytest.raises(error, match=message):
        call(ours, x)
    theirs = of_jax(lambda j: (j.eval_shape(lambda x: call(j.scipy.signal, x), x), None)[1])
    assert theirs.is_a(error)
