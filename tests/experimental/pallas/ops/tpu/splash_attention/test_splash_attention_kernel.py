"""Attention with masks, groups of heads, segments, caps and sinks is that of the formula."""

import numpy as np
import pytest

from jitney.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel
from jitney.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask import (
    CausalMask,
    MultiHeadMask,
)

HEADS, GROUPS, Q, K, D = 6, 2, 3, 5, 2
RNG = np.random.default_rng(0)
MASK = np.array(MultiHeadMask([CausalMask((Q, K), n) for n in range(HEADS)])[:, :, :])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


q, k, v = draw(HEADS, Q, D), draw(GROUPS, K, D), draw(GROUPS, K, D)


def formula(mask=MASK, cap=None, sinks=None):
    """(result, logarithm of the denominator), in double precision, head by head."""
    outs, logs = [], []
    for h in range(HEADS):
        g = h // (HEADS // GROUPS)
        logits = q[h].astype(float) @ k[g].T
        logits = logits if cap is None else cap * np.tanh(logits / cap)
        weights = np.exp(logits) * mask[h]
        total = weights.sum(1) + (0 if sinks is None else np.exp(sinks[h]))
        outs.append(weights @ v[g] / total[:, None])
        logs.append(np.log(total))
    return np.stack(outs), np.stack(logs)


@pytest.mark.parametrize("cap", [None, 0.5])
def test_heads_share_the_keys_of_their_group(cap):
    attention = kernel.make_splash_mha(MASK, attn_logits_soft_cap=cap, save_residuals=True)
    out, (logs,) = attention(q, k, v)
    wanted, wanted_logs = formula(cap=cap)
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(logs, wanted_logs, rtol=2e-5, atol=1e-6)


def test_queries_attend_to_keys_of_their_segment():
    ids = kernel.SegmentIds(np.array([0, 0, 1]), np.array([0, 0, 1, 1, 0]))
    mask = np.ones_like(MASK)
    out = kernel.make_splash_mha(mask)(q, k, v, ids)
    wanted, _ = formula(mask & (ids.q[:, None] == ids.kv[None, :]))
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=1e-6)


def test_sinks_are_added_to_the_denominator():
    sinks = np.array([0, 1, -2, 30, -1, 0], np.float32)
    out = kernel.make_splash_mha(MASK)(q, k, v, sinks=sinks)
    np.testing.assert_allclose(out, formula(sinks=sinks)[0], rtol=2e-5, atol=1e-6)


def test_one_group_has_no_axis():
    one = kernel.make_splash_mqa(MASK)(q, k[0], v[0])
    same = kernel.make_masked_mha_reference(MASK)(q, k[:1], v[:1])
    np.testing.assert_array_equal(one, same)


def test_shapes_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match=r"must have shape \[heads, queries, keys\]"):
        kernel.make_splash_mha(MASK[0])
    for wrong in q[:5], q[:, :2]:
        with pytest.raises(ValueError, match="do not match"):
            kernel.make_splash_mha(MASK)(wrong, k, v)
