"""Random sparse arrays have the layout, the number of blocks and the flags that are asked for."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.random import random_bcoo

KEY = jax.random.key(3)


@pytest.mark.parametrize(
    ("nse", "stored"), [(0.2, 5), (0.21, 6), (7, 7), (0, 0), (1, 1), (0.001, 1)]
)
def test_a_number_of_blocks_or_the_share_of_positions(nse, stored):
    mat = random_bcoo(KEY, (4, 6), nse=nse, dtype=np.float32)
    assert mat.nse == stored and mat.shape == (4, 6) and mat.dtype == np.float32
    at = {tuple(row) for row in mat.indices.tolist()}
    assert len(at) == stored and all(0 <= i < 4 and 0 <= j < 6 for i, j in at)


def test_batches_have_indices_of_their_own():
    options = {"dtype": np.float32, "sorted_indices": True}
    mat = random_bcoo(KEY, (3, 40, 2), nse=8, n_batch=1, n_dense=1, **options)
    assert (mat.n_batch, mat.n_sparse, mat.n_dense) == (1, 1, 1)
    rows = mat.indices[..., 0]
    assert bool(jnp.all(jnp.diff(rows) > 0)) and rows[0].tolist() != rows[1].tolist()
    assert mat.indices_sorted and mat.unique_indices


def test_data_come_from_the_generator():
    def ones(key, *, shape, dtype, scale):
        return jnp.full(shape, scale, dtype)

    mat = random_bcoo(KEY, (3, 3), nse=4, dtype="int32", generator=ones, scale=5)
    assert mat.data.tolist() == [5] * 4 and sorted(np.ravel(mat.todense()))[-4:] == [5] * 4
    again = random_bcoo(KEY, (3, 3), nse=4, dtype="int32", generator=ones, scale=5)
    assert again.indices.tolist() == mat.indices.tolist()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"nse": 12}, ValueError, r"nse must be in \[0, 12\)"),
        ({"nse": -1}, ValueError, "but got -1"),
        ({"nse": 2.5}, TypeError, "integer, or a fraction below 1"),
        ({"n_batch": 2, "n_dense": 1}, ValueError, "rank, but got n_batch=2 and n_dense=1"),
        (
            {"indices_dtype": "int8", "shape": (100, 100)},
            ValueError,
            "int8 cannot represent all indices",
        ),
    ],
)
def test_impossible_arrays_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        random_bcoo(KEY, **{"shape": (3, 4), **options})
