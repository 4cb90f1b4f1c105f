"""Views read the bytes of an array as other types, as NumPy's do; casts drop imaginary parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.numpy.views import astype, byteswap, view

X = np.array([[1.5, -2.25, 0.0, np.pi], [np.inf, -0.0, 1e-40, 7]], np.float32)


@pytest.mark.parametrize("new", ["int8", "uint16", "int32", "float16", "complex64", "float32"])
@pytest.mark.parametrize("old", ["float32", "int16", "uint8", "complex64"])
def test_bytes_are_read_as_they_are(old, new):
    x = X.view(old)
    found = view(jnp.array(x), new)
    assert found.dtype == new
    assert np.asarray(found).tobytes() == x.tobytes()
    assert found.shape == x.view(new).shape


def test_booleans_are_bytes():
    x = jnp.array([True, False, False, True])
    assert view(x, np.int32).tolist() == [1 + (1 << 24)]
    assert view(view(x, np.uint8), bool).tolist() == x.tolist()


def test_views_fit():
    x = jnp.array(X)
    assert view(x, None) is x
    assert view(x, np.float32) is x
    assert view(jnp.float32(1.0), np.int32) == 0x3F800000
    with pytest.raises(ValueError, match="a scalar of float32, 32 bits, cannot be viewed as int8"):
        view(jnp.float32(1), np.int8)
    with pytest.raises(ValueError, match="32 bits each, but it has 3 of int8, 24 bits in all"):
        view(jnp.zeros((2, 3), np.int8), np.int32)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "complex64"])
def test_bytes_of_each_element_are_reversed(dtype):
    x = X.view(dtype)
    swapped = byteswap(jnp.array(x))
    assert np.asarray(swapped).tobytes() == x.byteswap().tobytes()
    assert np.asarray(byteswap(swapped)).tobytes() == x.tobytes()


def test_casts():
    x = jnp.array([1.9, -1.9, 0.0])
    assert astype(x, np.int32).tolist() == [1, -1, 0]
    assert astype(x, bool).tolist() == [True, True, False]
    assert astype(x, None).dtype == np.float32
    assert astype(x, np.float32, copy=True) is not x
    assert astype(x, np.float32) is x
    assert astype(2.5, np.int8) == 2


def test_imaginary_parts_are_dropped():
    z = jnp.array([1 + 2j, 3j])
    with warnings.catch_warnings(action="ignore"):
        assert astype(z, np.float32).tolist() == [1, 0]
    assert astype(z, bool).tolist() == [True, True]
