"""Masks are functions of positions, combined and compared without their arrays."""

import numpy as np
import pytest

from jitney.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask import (
    CausalMask,
    FullMask,
    LocalMask,
    MultiHeadMask,
    NumpyMask,
    make_causal_mask,
    make_local_attention_mask,
    make_random_mask,
)

SHAPE = (4, 6)
QUERIES, KEYS = np.indices(SHAPE)


@pytest.mark.parametrize("offset", [0, 2, -1])
def test_positions_are_compared(offset):
    q = QUERIES + offset
    np.testing.assert_array_equal(make_causal_mask(SHAPE, offset), q >= KEYS)
    for before, behind in (1, 2), (None, 0), (0, None), (None, None):
        wanted = np.ones(SHAPE, bool)
        wanted &= True if before is None else q - before <= KEYS
        wanted &= True if behind is None else q + behind >= KEYS
        found = make_local_attention_mask(SHAPE, (before, behind), offset=offset)
        np.testing.assert_array_equal(found, wanted)


def test_blocks_are_parts_of_the_whole():
    for mask in CausalMask(SHAPE, 1), FullMask(SHAPE), LocalMask(SHAPE, (1, 1), 0):
        np.testing.assert_array_equal(mask[1:3, ::2], mask[:, :][1:3, ::2])
        with pytest.raises(NotImplementedError, match="must be indexed by two slices"):
            mask[0]


def test_combinations_are_elementwise():
    a, b = CausalMask(SHAPE), NumpyMask(make_random_mask(SHAPE, 0.5, 0))
    np.testing.assert_array_equal((a & b)[:, 1:], a[:, 1:] & b[:, 1:])
    np.testing.assert_array_equal((a | b)[:2, :], a[:2, :] | b[:2, :])
    with pytest.raises(ValueError, match="do not match"):
        a | FullMask((1, 6))
    with pytest.raises(NotImplementedError, match="no truth value"):
        bool(a & b)


def test_equal_masks_have_equal_hashes():
    def masks():
        a, b = CausalMask(SHAPE, 1), LocalMask(SHAPE, (1, None), 1)
        heads = MultiHeadMask([a, NumpyMask(np.eye(4, 6, dtype=bool))])
        return [a, b, FullMask(SHAPE), a & b, a | b, b & a, LocalMask(SHAPE, (2, None), 1), heads]

    for i, x in enumerate(masks()):
        for j, y in enumerate(masks()):
            assert (x == y) == (i == j)
            assert i != j or hash(x) == hash(y)


def test_heads_are_a_leading_axis():
    heads = MultiHeadMask([CausalMask(SHAPE), FullMask(SHAPE)])
    assert heads.shape == (2, 4, 6) and heads[:, :2, :].shape == (2, 2, 6)
    assert heads[1, :, :].all() and not heads[0, :, :].all()
    with pytest.raises(ValueError, match="at least one mask"):
        MultiHeadMask([])
    with pytest.raises(ValueError, match="must have the same shape"):
        MultiHeadMask([FullMask(SHAPE), FullMask((6, 4))])


def test_arrays_are_boolean_matrices():
    with pytest.raises(ValueError, match="must have two axes"):
        NumpyMask(np.ones(3, bool))
    with pytest.raises(ValueError, match="must be boolean"):
        NumpyMask(np.ones(SHAPE))
