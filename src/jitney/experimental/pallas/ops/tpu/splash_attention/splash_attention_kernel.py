"""Multi-head attention with masks and segment ids.

For queries q [heads, queries, d], keys k [groups, keys, d] and values v [groups, keys, dv]:

    out[h] = softmax(cap(q[h] k[g]^T), where mask[h]) v[g],      g = h // (heads // groups)

Products are accumulated in float32. Logits are not scaled, so callers must scale q. If all heads
share one group (`mqa`), k and v have no group axis.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitney import numpy as jnp
from jitney.ad_checkpoint import checkpoint_name
from jitney.core.util.lazy import listing
from jitney.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask import Mask

if TYPE_CHECKING:
    from jitney.core.typing import Array

__dir__ = listing(__name__)

DEFAULT_MASK_VALUE = -0.7 * float(np.finfo(np.dtype("float32")).max)


class SegmentIds(NamedTuple):
    """Segment ids of queries and keys: a query attends only to keys of the same segment."""

    q: Any
    kv: Any


class SplashAttentionKernel:
    """An attention function with a fixed mask, created by `make_splash_mha` or `make_splash_mqa`.

    Args:
      mask: a `Mask` or booleans [heads, queries, keys].
      is_mqa: whether all heads share one k and v.
      save_residuals: whether to also return the logarithm of the softmax denominator.
      mask_value: value that replaces the logits of masked keys.
      attn_logits_soft_cap: value `cap` that limits logits: each logit p is replaced by
        `cap * tanh(p / cap)`; None for no limit.
      residual_checkpoint_name: name of the results for policies of `jax.checkpoint`.
    """

    def __init__(
        self,
        mask: Any,
        *,
        is_mqa: bool,
        save_residuals: bool = False,
        mask_value: float = DEFAULT_MASK_VALUE,
        attn_logits_soft_cap: float | None = None,
        residual_checkpoint_name: str | None = None,
    ) -> None:
        if len(mask.shape) != 3:
            raise ValueError(
                f"splash attention: mask must have shape [heads, queries, keys], but got {mask.shape}"
            )
        self.mask = jnp.asarray(mask[:, :, :] if isinstance(mask, Mask) else mask)
        self.is_mqa = is_mqa
        self.save_residuals = save_residuals
        self.mask_value = mask_value
        self.attn_logits_soft_cap = attn_logits_soft_cap
        self.residual_checkpoint_name = residual_checkpoint_name

    def __call__(
        self,
        q: Array,
        k: Array,
        v: Array,
        segment_ids: SegmentIds | None = None,
        sinks: Array | None = None,
    ) -> Any:
        """Computes attention; see the module docstring.

        Args:
          q: queries [heads, queries, d].
          k: keys [groups, keys, d], or [keys, d] for `mqa`.
          v: values [groups, keys, dv], or [keys, dv] for `mqa`.
          segment_ids: segment ids of queries and keys.
          sinks: logit for each head, whose exponential is added to the softmax denominator.

        Returns: array [heads, queries, dv]; with `save_residuals`, a pair of this array and a
          tuple that contains only the logarithm of the denominator.

        Raises:
          ValueError: if the shapes are inconsistent.
        """
        if self.is_mqa:
            k, v = k[None], v[None]
        heads, groups = q.shape[0], k.shape[0]
        if heads % groups or self.mask.shape != (heads, q.shape[1], k.shape[1]):
            raise ValueError(
                f"splash attention: shapes of q {q.shape}, k {k.shape} and the mask "
                f"{self.mask.shape} do not match; the mask must have shape [heads, queries, keys], "
                "and the number of heads of k must divide the number of heads of q"
            )
        of_group = (groups, heads // groups)
        grouped = q.reshape((*of_group, *q.shape[1:])).astype("float32")
        logits = jnp.einsum("ghsd,gtd->ghst", grouped, k.astype("float32"))
        if self.attn_logits_soft_cap is not None:
            logits = self.attn_logits_soft_cap * jnp.tanh(logits / self.attn_logits_soft_cap)
        mask = self.mask.reshape((*of_group, *self.mask.shape[1:]))
        if segment_ids is not None:
            mask = mask & (segment_ids.q[:, None] == segment_ids.kv[None, :])
        logits = jnp.where(mask, logits, self.mask_value)
        greatest = logits.max(axis=-1)
        sink = None if sinks is None else sinks.astype("float32").reshape((*of_group, 1))
        if sink is not None:
            greatest = jnp.maximum(greatest, sink)
        weights = jnp.exp(logits - greatest[..., None])
        divisor = weights.sum(axis=-1)
        if sink is not None:
            divisor = divisor + jnp.exp(sink - greatest)
        out = jnp.einsum("ghst,gtd->ghsd", weights / divisor[..., None], v.astype("float32"))
        out = out.reshape((heads, *out.shape[2:])).astype(q.dtype)
        log_divisor = (greatest + jnp.log(divisor)).reshape((heads, q.shape[1]))
        if self.residual_checkpoint_name is not None:
            out, log_divisor = checkpoint_name((out, log_divisor), self.residual_checkpoint_name)
        return (out, (log_divisor,)) if self.save_residuals else out


def _make(
    mask: Any,
    *,
    block_sizes: object = None,
    is_mqa: bool,
    save_residuals: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    downcast_smem_data: bool = True,
    head_shards: int = 1,
    q_seq_shards: int = 1,
    residual_checkpoint_name: str | None = None,
    interpret: bool = False,
) -> SplashAttentionKernel:
    """Returns the attention function for `mask`, a `Mask` or an array [heads, queries, keys].

    Options that determine the schedule of JAX's kernel (blocks, shards, memory) do not affect
    results, and are ignored.
    """
    return SplashAttentionKernel(
        mask,
        is_mqa=is_mqa,
        save_residuals=save_residuals,
        mask_value=mask_value,
        attn_logits_soft_cap=attn_logits_soft_cap,
        residual_checkpoint_name=residual_checkpoint_name,
    )


def _reference(mask: Any, is_mqa: bool, backward_impl: str = "vanilla") -> Any:
    """Returns an attention function for `mask` that takes the options of `_make` in each call."""

    def attention(
        q: Array,
        k: Array,
        v: Array,
        segment_ids: SegmentIds | None = None,
        sinks: Array | None = None,
        **options: Any,
    ) -> Any:
        return _make(mask, is_mqa=is_mqa, **options)(q, k, v, segment_ids, sinks)

    return attention


make_splash_mha = functools.partial(_make, is_mqa=False)
make_splash_mqa = functools.partial(_make, is_mqa=True)
make_splash_mha_single_device = functools.partial(_make, is_mqa=False)
make_splash_mqa_single_device = functools.partial(_make, is_mqa=True)
make_masked_mha_reference = functools.partial(_reference, is_mqa=False)
make_masked_mqa_reference = functools.partial(_reference, is_mqa=True)
