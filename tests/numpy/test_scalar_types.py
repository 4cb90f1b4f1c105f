"""Scalar types are dtypes that can be called, and equal the NumPy types that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.core.types import dtypes
from jitney.numpy import scalar_types
from jitney.numpy.scalar_types import ScalarMeta, float32, scalar_type

TYPES = {k: t for k, t in vars(scalar_types).items() if isinstance(t, ScalarMeta)}


@pytest.mark.parametrize("name", TYPES)
def test_types_stand_for_their_dtype(name):
    kind = TYPES[name]
    assert np.dtype(kind) == kind.dtype
    assert kind == kind.dtype.type
    assert hash(kind) == hash(kind.dtype.type)
    if name in ("bool_", kind.__name__):
        assert kind.dtype == np.dtype(getattr(dtypes, kind.__name__, kind.__name__))


def test_calls_create_arrays():
    x = float32([1, 2])
    assert (x.dtype, x.shape, x.weak_type) == (np.float32, (2,), False)
    assert scalar_types.int8(3.7) == 3
    assert scalar_types.bfloat16(1).dtype == dtypes.bfloat16


def test_instances_are_scalars_of_numpy():
    assert isinstance(np.float32(1), float32)
    assert not isinstance(np.float64(1), float32)
    assert not isinstance(1.0, float32)


def test_types_of_one_dtype_are_equal():
    assert scalar_type("other", np.float32) == float32
    assert float32 != scalar_types.float64
    assert {float32: 1}[np.float32] == 1
