"""Scalar types: `jnp.float32`, `jnp.int8`, `jnp.bfloat16` and the like.

They can be passed wherever a dtype is expected, compare equal to NumPy's types of the same name,
and create arrays when called: `jnp.float32(3)`.
"""

# Scalar types are compared with objects of any type.
# pyright: reportUnnecessaryComparison=false

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.core.array import Array
from jitney.core.types import dtypes


class ScalarMeta(type):
    """The metaclass of scalar types."""

    dtype: np.dtype

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or bool(cls.dtype.type == other)

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __call__(cls, x: Any) -> Array:
        """Converts `x` to an array of this dtype."""
        from jitney.numpy.creation import asarray

        return asarray(x, cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.dtype.type)


def scalar_type(name: str, kind: type) -> ScalarMeta:
    """Returns the scalar type `name` for NumPy's scalar type `kind`."""
    dtype = np.dtype(kind)
    doc = f"The dtype {name}; calling it creates an array of this dtype."
    new = ScalarMeta(name, (), {"dtype": dtype, "__doc__": doc})
    new.__module__ = "jax.numpy"
    return new


bool_ = scalar_type("bool", np.bool_)
int8 = scalar_type("int8", np.int8)
int16 = scalar_type("int16", np.int16)
int32 = scalar_type("int32", np.int32)
int64 = scalar_type("int64", np.int64)
uint8 = scalar_type("uint8", np.uint8)
uint16 = scalar_type("uint16", np.uint16)
uint32 = scalar_type("uint32", np.uint32)
uint64 = scalar_type("uint64", np.uint64)
float16 = scalar_type("float16", np.float16)
float32 = scalar_type("float32", np.float32)
float64 = scalar_type("float64", np.float64)
complex64 = scalar_type("complex64", np.complex64)
complex128 = scalar_type("complex128", np.complex128)
bfloat16 = scalar_type("bfloat16", dtypes.bfloat16)
if dtypes.int1_types:
    int1, uint1 = [scalar_type(kind.__name__, kind) for kind in dtypes.int1_types]
int2 = scalar_type("int2", dtypes.int2)
int4 = scalar_type("int4", dtypes.int4)
uint2 = scalar_type("uint2", dtypes.uint2)
uint4 = scalar_type("uint4", dtypes.uint4)
float6_e2m3fn = scalar_type("float6_e2m3fn", dtypes.float6_e2m3fn)
float6_e3m2fn = scalar_type("float6_e3m2fn", dtypes.float6_e3m2fn)
float4_e2m1fn = scalar_type("float4_e2m1fn", dtypes.float4_e2m1fn)
float8_e3m4 = scalar_type("float8_e3m4", dtypes.float8_e3m4)
float8_e4m3 = scalar_type("float8_e4m3", dtypes.float8_e4m3)
float8_e4m3b11fnuz = scalar_type("float8_e4m3b11fnuz", dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = scalar_type("float8_e4m3fn", dtypes.float8_e4m3fn)
float8_e4m3fnuz = scalar_type("float8_e4m3fnuz", dtypes.float8_e4m3fnuz)
float8_e5m2 = scalar_type("float8_e5m2", dtypes.float8_e5m2)
float8_e5m2fnuz = scalar_type("float8_e5m2fnuz", dtypes.float8_e5m2fnuz)
float8_e8m0fnu = scalar_type("float8_e8m0fnu", dtypes.float8_e8m0fnu)

float_, double, single = float64, float64, float32
complex_, cdouble, csingle = complex128, complex128, complex64
int_, uint = int64, uint64

# NumPy's type categories, for `issubdtype`, and its dtype class.
character = np.character
complexfloating = np.complexfloating
dtype = np.dtype
flexible = np.flexible
floating = np.floating
generic = np.generic
inexact = np.inexact
integer = np.integer
number = np.number
object_ = np.object_
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger

ndarray = Array
