"""`jax.scipy.fft` against SciPy in double precision, and against real jax."""

import numpy as np
import pytest
import scipy.fft
from tests.helpers.oracle import of_jax

import jitney

RNG = np.random.default_rng(0)
ours = jitney.scipy.fft


def close(got, want):
    got = np.asarray(got)
    assert got.shape == want.shape
    limit = 10 * np.finfo(got.dtype).eps * max(np.abs(want).max(initial=0), 1)
    np.testing.assert_allclose(got, want, rtol=0, atol=limit)


@pytest.mark.parametrize("norm", [None, "backward", "ortho"])
@pytest.mark.parametrize("name", ["dct", "idct"])
@pytest.mark.parametrize("double", [False, True])
def test_lengths(name, norm, double):
    for n in (1, 2, 3, 4, 5, 8, 15, 16, 17, 100):
        x = RNG.normal(size=(3, n)).astype(np.float64 if double else np.float32)
        want = getattr(scipy.fft, name)(x.astype(np.float64), norm=norm)
        with jitney.enable_x64(double):
            function = getattr(ours, name)
            got = function(x, norm=norm)
            assert got.dtype == x.dtype
            close(got, want)
            close(jitney.jit(lambda x, f=function: f(x, norm=norm))(x), want)
            close(jitney.vmap(lambda x, f=function: f(x, norm=norm))(x), want)


@pytest.mark.parametrize("name", ["dctn", "idctn"])
def test_several_axes(name):
    x = RNG.normal(size=(4, 5, 6)).astype(np.float32)
    for s, axes in ((None, None), ((3, 8), (0, 2)), (None, (-1, 0)), ((4, 4), None)):
        close(getattr(ours, name)(x, s=s, axes=axes), getattr(scipy.fft, name)(x, s=s, axes=axes))
    for n, axis in ((3, 0), (9, 1), (None, -1)):
        one = name[:-1]
        close(getattr(ours, one)(x, n=n, axis=axis), getattr(scipy.fft, one)(x, n=n, axis=axis))


def test_derivatives_dtypes_and_nothing():
    x = np.random.default_rng(1).normal(size=6).astype(np.float32)
    for name in ("dct", "idct"):

        def results(j, name=name):
            f = getattr(j.scipy.fft, name)
            return j.jacrev(f)(x), j.jacfwd(f)(x), f(np.arange(4, dtype=np.int32)).dtype

        f, (reverse, forward, dtype) = getattr(ours, name), of_jax(results)
        close(jitney.jacrev(f)(x), reverse.array)
        close(jitney.jacfwd(f)(x), forward.array)
        z = x + 1j * x[::-1]
        close(f(z.astype(np.complex64)), getattr(scipy.fft, name)(z))
        assert f(np.arange(4, dtype=np.int32)).dtype == dtype
        assert f(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_errors():
    x = np.ones(4, np.float32)

    def refused(j):
        with pytest.raises(NotImplementedError, match="type 2"):
            j.scipy.fft.dct(x, type=3)
        with pytest.raises(ValueError, match="norm="):
            j.scipy.fft.idct(x, norm="forward")
        with pytest.raises(ValueError, match="axis 3"):
            j.scipy.fft.dct(x, axis=3)

    refused(jitney)
    assert of_jax(refused) is None
    with pytest.raises(ValueError, match="expected a positive length"):
        ours.dctn(np.ones((2, 2), np.float32), s=(2,), axes=(0, 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("name", ["dct", "idct", "dctn", "idctn"])
def test_narrow_floats(name, norm, dtype):
    x = np.random.default_rng(2).normal(size=(3, 4)).astype(jitney.numpy.dtype(dtype))
    exact = getattr(scipy.fft, name)(np.asarray(x, float), norm=norm)
    want = of_jax(lambda j: getattr(j.scipy.fft, name)(j.numpy.asarray(x), norm=norm).dtype)
    for f in (getattr(ours, name), jitney.jit(getattr(ours, name), static_argnames="norm")):
        found = f(x, norm=norm)
        assert found.dtype == want
        error = 1e-5 if name.startswith("i") else 0.02
        np.testing.assert_allclose(np.asarray(found, float), exact, rtol=error, atol=error)
