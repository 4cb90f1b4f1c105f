"""Arrays of other libraries are copied by DLPack, and what cannot be exchanged is refused."""

import ml_dtypes
import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.dlpack import from_dlpack, is_supported_dtype
from jitney.core.types import dtypes
from jitney.runtime.arrays import dlpack_types


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


class Producer:
    """A library's tensor: its memory is exchanged by the protocol alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, *map(np.dtype, dtypes.float8_types)])
def test_dtypes_that_numpy_does_not_exchange(dtype):
    x = jnp.arange(1.0, 7.0).reshape(2, 3).astype(dtype)
    y = from_dlpack(Producer(x))
    assert y.dtype == dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    bits = np.from_dlpack(_WithoutCode(x))
    np.testing.assert_array_equal(bits, np.asarray(x).view(bits.dtype))
    assert from_dlpack(Producer(x[:0])).shape == (0, 3)
    for options in ({"copy": True}, {"max_version": (1, 0)}):  # capsules that are not consumed
        assert x.__dlpack__(**options) is not None


class _WithoutCode(Producer):
    def __dlpack__(self, **options):
        capsule = super().__dlpack__(**options)
        tensor = dlpack_types._tensor_of(capsule)
        assert tensor.code == CODES[self.array.dtype.name]
        tensor.code = 1  # unsigned
        return capsule


# `DLDataTypeCode` of dlpack.h
CODES = {
    "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.float4_e2m1fn])
def test_dtypes_of_less_than_a_byte_are_refused(dtype):
    with pytest.raises(BufferError):
        jnp.ones(2, dtype).__dlpack__()


def test_real_jax_takes_bfloat16():
    theirs = pytest.importorskip("jax", reason="real JAX is not installed")
    x = jnp.array([1.5, -0.0, jnp.inf], jnp.bfloat16)
    y = theirs.dlpack.from_dlpack(Producer(x))
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    again = from_dlpack(Producer(y))
    np.testing.assert_array_equal(np.asarray(again), np.asarray(x))
