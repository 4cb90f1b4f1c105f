"""Tilings split arrays into equal shards that cover them."""

import numpy as np

from jitney.core.sharding.tiling import Tiling, whole

TILING = Tiling((2, 1, 3), tuple((i, 0, j) for i in range(2) for j in (2, 0, 1)) + ((0, 0, 0),))


def test_shards_cover_the_array():
    shape = (4, 5, 6)
    array = np.arange(120).reshape(shape)
    counts = np.zeros(shape, int)
    for index in TILING.indices(shape):
        assert array[index].shape == TILING.part_shape(shape) == (2, 5, 2)
        counts[index] += 1
    assert counts[:2, :, :2].min() == counts.max() == 2  # one shard has a replica
    assert counts.min() == 1
    assert TILING.indices(shape)[0] == (slice(0, 2), slice(None), slice(4, 6))


def test_replicas_are_numbered():
    assert TILING.replica_ids() == [0, 0, 0, 0, 0, 0, 1]
    assert whole(2, 3).replica_ids() == [0, 1, 2]


def test_whole_arrays_have_one_shard():
    assert whole(2, 3).is_whole
    assert not TILING.is_whole
    assert whole(2, 3).indices((4, 0)) == [(slice(None), slice(None))] * 3
    assert whole(0, 1).part_shape(()) == ()
    assert Tiling((2,), ((0,), (1,))).indices((0,)) == [(slice(0, 0),)] * 2
