"""DLPack capsules of bfloat16 and of 8-bit floats, which NumPy neither exports nor imports.

NumPy exchanges the bits as unsigned integers; only the type code in the capsule differs. The layout
of the structures and the codes are taken from `dlpack.h`, version 1.1.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol, cast

import numpy as np

from jitney.core.types import dtypes

_UNSIGNED = 1
_CODES = {
    np.dtype(dtype): code
    for dtype, code in (
        (dtypes.bfloat16, 4),
        (dtypes.float8_e3m4, 7),
        (dtypes.float8_e4m3, 8),
        (dtypes.float8_e4m3b11fnuz, 9),
        (dtypes.float8_e4m3fn, 10),
        (dtypes.float8_e4m3fnuz, 11),
        (dtypes.float8_e5m2, 12),
        (dtypes.float8_e5m2fnuz, 13),
        (dtypes.float8_e8m0fnu, 14),
    )
}
_DTYPES = {(code, 8 * dtype.itemsize, 1): dtype for dtype, code in _CODES.items()}


class _Tensor(ctypes.Structure):
    """The start of `DLTensor`, which is that of `DLManagedTensor` as well."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Versioned(ctypes.Structure):
    """The start of `DLManagedTensorVersioned`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


def _tensor_of(capsule: object) -> _Tensor | None:
    """Returns the tensor of a capsule that has not been consumed; None if it is of an unknown kind."""
    if _is_valid(capsule, b"dltensor_versioned"):
        return _Versioned.from_address(_pointer(capsule, b"dltensor_versioned")).tensor
    if _is_valid(capsule, b"dltensor"):
        return _Tensor.from_address(_pointer(capsule, b"dltensor"))
    return None


def bits(value: np.ndarray) -> np.ndarray:
    """Returns the array that NumPy exports: unsigned integers for dtypes in `_CODES`, else `value`."""
    return value.view(f"u{value.itemsize}") if value.dtype in _CODES else value


def label(capsule: object, dtype: np.dtype) -> object:
    """Returns the capsule that NumPy made of `bits`, with the code of the elements' `dtype`."""
    if dtype in _CODES:
        tensor = _tensor_of(capsule)
        assert tensor is not None, "NumPy exports in a known layout"
        tensor.code = _CODES[dtype]
    return capsule


class Producer(Protocol):
    """An array of any library that can be exchanged."""

    def __dlpack__(self, **options: object) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


class _AsBits:
    """A producer of another producer's tensors, which exports dtypes in `_CODES` as integers.

    Attributes:
      dtype: the dtype of the exported tensor if it is in `_CODES`, else None.
    """

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.dtype: np.dtype | None = None

    def __dlpack__(self, **options: object) -> object:
        capsule = self.producer.__dlpack__(**options)
        tensor = _tensor_of(capsule)
        if tensor is not None:
            self.dtype = _DTYPES.get((tensor.code, tensor.bits, tensor.lanes))
            if self.dtype is not None:
                tensor.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.producer.__dlpack_device__()


def imported(producer: Producer) -> np.ndarray:
    """Returns an array of the memory that an object with `__dlpack__` exports."""
    source = _AsBits(producer)
    array = np.from_dlpack(cast("Any", source))  # NumPy's stub demands a type for the capsule
    return array if source.dtype is None else array.view(source.dtype)
