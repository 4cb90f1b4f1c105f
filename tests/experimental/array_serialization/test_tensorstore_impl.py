"""Single arrays: bounds of parts, bytes that are read, and what cannot be stored or read."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

import jitney as jax
from jitney.experimental.array_serialization.tensorstore_impl import (
    _bounds,
    async_serialize,
    estimate_read_memory_footprint,
)


@pytest.mark.parametrize(
    ("origin", "shape", "blocks", "elements"),
    [
        ((0, 0), (4, 6), (2, 3), 24),
        ((1, 0), (2, 6), (2, 3), 24),
        ((1, 2), (1, 1), (2, 3), 6),
        ((0, 0), (5, 1), (4, 0), 8),
        ((3, 4), (2, 2), None, 4),
    ],
)
def test_chunks_are_read_completely(origin, shape, blocks, elements):
    store = SimpleNamespace(
        dtype=SimpleNamespace(numpy_dtype=np.dtype("float64")),
        chunk_layout=SimpleNamespace(read_chunk=SimpleNamespace(shape=blocks)),
    )
    domain = SimpleNamespace(origin=origin, shape=shape)
    assert estimate_read_memory_footprint(store, domain) == 8 * elements


def test_bounds_are_those_of_slices():
    assert _bounds((slice(None), slice(2, 5)), (3, 4)) == ((0, 3), (2, 4))
    assert _bounds((), ()) == ()


@pytest.mark.parametrize("x", [np.zeros(2), 1.0, jax.random.key(0)])
def test_only_numeric_arrays_are_stored(x):
    with pytest.raises(TypeError, match="expected a numeric"):
        asyncio.run(async_serialize(x, {"driver": "zarr3"}))
