"""Saved arrays are loaded with their dtype; functions that would read within a trace refuse."""

from __future__ import annotations

import io

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.core.types import dtypes
from jitney.numpy.files import fromfile, fromiter, load, save, savez


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64", "bool", "bfloat16"])
def test_round_trips(dtype):
    x = jnp.array([[1, 0], [3, 4]]).astype(dtype)
    file = io.BytesIO()
    save(file, x)
    file.seek(0)
    found = load(file)
    assert isinstance(found, jnp.ndarray)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)


def test_wide_elements_are_narrowed():
    file = io.BytesIO()
    np.save(file, np.arange(3.0))
    file.seek(0)
    assert load(file).dtype == np.float32
    assert dtypes.canonicalize_dtype(np.float64) == np.float32


def test_archives_and_objects_are_those_of_numpy(tmp_path):
    savez(tmp_path / "a.npz", x=jnp.ones(2))
    with load(tmp_path / "a.npz") as archive:
        assert archive["x"].tolist() == [1, 1]
    np.save(tmp_path / "b.npy", np.array([{"a": 1}, None]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load(tmp_path / "b.npy")
    assert load(tmp_path / "b.npy", allow_pickle=True)[0] == {"a": 1}


def test_side_effects_are_refused():
    for function in (fromfile, fromiter):
        with pytest.raises(NotImplementedError, match=rf"jnp\.asarray\(np\.{function.__name__}"):
            function("name", dtype=float)
