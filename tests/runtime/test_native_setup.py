"""What native code is told at import holds from then on: devices, settings, operators, routines."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime import native_setup
from jitney.runtime.devices.client import Client, default_device


def test_arithmetic_follows_the_default_device():
    other = Client("cpu", 0, (2,), 1).devices()[1]
    assert (jnp.float32([1]) + 1).devices() == {default_device()}
    with jax.default_device(other):
        assert (jnp.float32([1]) + 1).devices() == {other}
    assert (jnp.float32([1]) + 1).devices() == {default_device()}


@pytest.mark.parametrize("name", native_setup._NATIVE_OPERATORS)
def test_operands_that_native_code_does_not_know_are_left_to_python(name):
    x, y = np.float32([1, 2]), np.int8([[3], [4]])
    out = getattr(jnp.asarray(x), name)(jnp.asarray(y))
    np.testing.assert_array_equal(out, getattr(x, name)(y.astype(np.float32)))
    assert getattr(jnp.asarray(x), name)("text") is NotImplemented


def test_settings_reach_native_arithmetic():
    x = jnp.float32([np.inf])
    assert np.isnan(x - x).all()
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        x - x
    assert np.isnan(x - x).all()
    with jax.enable_x64(True):
        assert (jnp.arange(2) + 2**40).dtype == np.int64


def test_factorizations_are_loaded_once():
    assert native_setup._factorizations() is native_setup._factorizations()
    matrices = np.float32([[[4, 2], [2, 5]]] * 3)
    factors = np.asarray(jnp.linalg.cholesky(matrices))
    np.testing.assert_allclose(factors @ factors.swapaxes(1, 2), matrices, rtol=1e-6)
