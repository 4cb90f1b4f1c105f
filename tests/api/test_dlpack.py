"""Arrays of other libraries are copied by DLPack, and what cannot be exchanged is refused."""

import ml_dtypes
import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.dlpack import from_dlpack, is_supported_dtype


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool", "complex64"])
def test_elements_are_copied(dtype):
    theirs = np.array([[0, 1], [1, 0]], dtype)
    ours = from_dlpack(theirs)
    theirs[...] = 1
    np.testing.assert_array_equal(ours, np.array([[0, 1], [1, 0]], dtype))
    assert ours.dtype == dtype


def test_empty_arrays_and_arrays_without_axes():
    assert from_dlpack(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert from_dlpack(np.array(2.5, np.float32)) == 2.5


def test_own_arrays_may_share_memory():
    x = jnp.arange(3, dtype=jnp.bfloat16)
    shared, copied = from_dlpack(x, copy=False), from_dlpack(x, copy=True)
    assert shared.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert copied.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert copied.dtype == x.dtype


def test_the_device_of_the_result():
    device = jax.devices()[0]
    assert from_dlpack(np.ones(2, np.float32), device).committed
    assert not from_dlpack(np.ones(2, np.float32)).committed


def test_refusals():
    with pytest.raises(ValueError, match="copy=False for an array which requires a copy"):
        from_dlpack(np.ones(2), copy=False)
    with pytest.raises(TypeError, match="not a list"):
        from_dlpack([1.0])


def test_dtypes_that_can_be_exchanged():
    assert all(map(is_supported_dtype, ["float16", "bool", np.uint64, ml_dtypes.bfloat16]))
    others = [ml_dtypes.float8_e4m3fn, ml_dtypes.int4, jax.random.key(0).dtype, "no dtype"]
    assert not any(map(is_supported_dtype, others))
