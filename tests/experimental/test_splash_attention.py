"""Attention under masks, against real jax's own reference for its kernel."""

import numpy as np
import pytest
from tests.helpers.oracle import RealModule, answer, jax as real

import jitney as jax
from jitney.experimental.pallas.ops.tpu import splash_attention as ours

theirs = RealModule("jax.experimental.pallas.ops.tpu.splash_attention")

SHAPE = (6, 9)


def masks(package):
    local = package.LocalMask(SHAPE, (2, 3), 1)
    causal = package.CausalMask(SHAPE, 1)
    array = np.arange(54).reshape(SHAPE) % 3 != 1
    return [
        causal,
        local,
        package.FullMask(SHAPE),
        package.NumpyMask(array),
        causal & package.NumpyMask(array) | local,
        package.LocalMask(SHAPE, (None, 2), 0),
    ]


def test_masks():
    wanted = answer(lambda: [(m.shape, m[:, :], m[1:4, 2:8]) for m in masks(theirs)])
    for (shape, whole, part), y in zip(wanted, masks(ours), strict=True):
        assert shape == y.shape
        np.testing.assert_array_equal(whole, y[:, :])
        np.testing.assert_array_equal(part, y[1:4, 2:8])
    assert ours.CausalMask(SHAPE) == ours.CausalMask(SHAPE) != ours.CausalMask(SHAPE, 1)
    with pytest.raises(NotImplementedError, match="truth value"):
        bool(ours.CausalMask(SHAPE))
    random = answer(lambda: theirs.make_random_mask(SHAPE, 0.3, 5))
    np.testing.assert_array_equal(random, ours.make_random_mask(SHAPE, 0.3, 5))


@pytest.mark.parametrize("groups", [4, 2, None])
@pytest.mark.parametrize("cap", [None, 5.0])
def test_attention(groups, cap):
    """With a group of keys for each head, for two heads, and one for all."""
    rng = np.random.default_rng(3)
    leading = () if groups is None else (groups,)
    q = rng.normal(size=(4, 6, 8)).astype(np.float32)
    k = rng.normal(size=(*leading, 9, 8)).astype(np.float32)
    v = rng.normal(size=(*leading, 9, 5)).astype(np.float32)
    segments = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])
    kind = "mqa" if groups is None else "mha"

    def expected():
        make = getattr(theirs, f"make_masked_{kind}_reference")
        found = make(theirs.MultiHeadMask([theirs.CausalMask(SHAPE, 3)] * 4))(
            q, k, v, theirs.SegmentIds(*segments), attn_logits_soft_cap=cap, save_residuals=True
        )
        return real.tree.leaves(found)

    attention = getattr(ours, f"make_splash_{kind}")(
        ours.MultiHeadMask([ours.CausalMask(SHAPE, 3)] * 4),
        head_shards=1, q_seq_shards=1, attn_logits_soft_cap=cap, save_residuals=True,
    )  # fmt: skip
    found = jax.jit(attention)(q, k, v, ours.SegmentIds(*segments))
    for x, y in zip(answer(expected), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)
