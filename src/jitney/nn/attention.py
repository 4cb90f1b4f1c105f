"""Dot-product attention.

If the product of queries and keys is small, it is computed at once. Otherwise it is computed for
one head and one block of queries at a time, so that memory grows linearly with the sequence length,
not with its square. Under a causal mask, blocks of queries are grouped into bands, and each band
uses only the keys up to its last query. Derivatives recompute the weights of a block instead of
storing them. Since the loops themselves are differentiated, derivatives of any mode and order are
available.

Axes in this file: B batch elements, T queries, S keys and values, K heads of keys, G heads of
queries for each head of keys, N = K G, H features.

Sources: Vaswani et al., Attention is all you need, 2017; Rabe and Staats, Self-attention does not
need O(n^2) memory, 2021; Dao, FlashAttention-2, 2023 (the residual).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.checkpoint import checkpoint
from jitney.api.batching.vmap import vmap
from jitney.api.jit.jit import jit
from jitney.core.pytree.pytrees import tree_flatten, tree_unflatten
from jitney.core.util.thresholds import threshold
from jitney.nn.normalization import logsumexp, softmax
from jitney.numpy.promotion import check_arraylike

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike

# Products of queries and keys with at most this many elements are computed at once.
_WHOLE = threshold(1 << 22, small=16)
# Otherwise about this many elements are computed at a time, and stay in cache.
_BLOCK = threshold(1 << 17, small=32)
# Minimum number of rows: derivatives with respect to all keys are accumulated once per block.
_LEAST_BLOCK = threshold(256, small=2)
_BANDS = 4  # of queries under a causal mask, so that 5/8 of the products are computed

R = TypeVar("R")


class _Rules(NamedTuple):
    """The static options: the scale, and the rules for which positions a query attends to."""

    scale: float
    is_causal: bool
    window: tuple[int, int] | None


class _Limits(NamedTuple):
    """The bias, mask and key lengths of attention, each of which can be None.

    Bias and mask are initially [B|1, K|1, T|1, G|1, S|1], and lengths [B|1, 1, 1, 1, 1]. Functions
    that handle one batch or one head receive them without the leading axes.
    """

    bias: Array | None
    mask: Array | None
    keys: Array | None


def _each(f: Callable[..., R], count: int, loop: bool, *operands: Any) -> R:
    """Applies `f` to each of `count` slices of the operands, and stacks the results.

    Operands whose first axis has size 1 are shared by all slices.
    """
    leaves, tree = tree_flatten(operands)
    if count == 1:
        out_leaves, structure = tree_flatten(f(*tree_unflatten(tree, [x[0] for x in leaves])))
        return tree_unflatten(structure, [x[None] for x in out_leaves])
    varies = [x.shape[0] != 1 for x in leaves]

    def of_slice(slices: list[Array]) -> R:
        remaining = iter(slices)
        return f(
            *tree_unflatten(
                tree, [next(remaining) if v else x[0] for x, v in zip(leaves, varies, strict=True)]
            )
        )

    varying = [x for x, v in zip(leaves, varies, strict=True) if v]
    return lax.map(of_slice, varying) if loop else vmap(of_slice)(varying)


def _seen(rules: _Rules, rows: Array, columns: Array, limits: _Limits) -> Array | None:
    """Returns the mask [T|1, G|1, S|1] of keys that each query attends to, or None for all."""
    row, column = rows[:, None, None], columns[None, None, :]
    conditions: list[Array] = []
    if limits.mask is not None:
        conditions.append(limits.mask)
    if limits.keys is not None:
        conditions.append(column < limits.keys)
    if rules.is_causal:
        conditions.append(column <= row)
    if rules.window is not None:
        before, after = rules.window
        conditions += [column >= row - before, column <= row + after]
    return reduce(jnp.logical_and, conditions) if conditions else None


def _attend(
    rules: _Rules, query: Array, key: Array, value: Array, rows: Array, limits: _Limits
) -> tuple[Array, Array]:
    """Computes attention for one head of keys.

    query [T, G, H], key and value [S, H], rows [T] -> output [T, G, H], residual [T, G].
    """
    dtype = jnp.promote_types(query.dtype, np.float32)
    # Queries come first, so that (T, G) are the rows of a matrix, here and in the products of all
    # derivatives.
    logits = jnp.einsum("TGH,SH->TGS", query, key, preferred_element_type=dtype)
    logits = logits * jnp.array(rules.scale, dtype)
    if limits.bias is not None:
        logits = (logits + limits.bias).astype(dtype)
    seen = _seen(rules, rows, jnp.arange(key.shape[0]), limits)
    if seen is not None:
        # The value is finite, so that a query that attends to no key averages all values, as in
        # JAX.
        logits = jnp.where(seen, logits, 0.7 * float(jnp.finfo(dtype).min))
    weights = softmax(logits, axis=-1).astype(key.dtype)
    residual = logsumexp(logits, axis=-1).astype(key.dtype)
    return jnp.einsum("TGS,SH->TGH", weights, value), residual


def _in_blocks(
    rules: _Rules, query: Array, key: Array, value: Array, limits: _Limits
) -> tuple[Array, Array]:
    """Computes `_attend` by blocks of queries."""
    (length, heads, _), keys = query.shape, key.shape[0]
    size = min(length, max(_LEAST_BLOCK // heads, _BLOCK // (heads * keys), 1))
    count = -(-length // size)

    def blocks(x: Array | None) -> Array | None:
        """Pads the first axis, over queries, and splits it into (count, size)."""
        if x is None or x.shape[0] == 1:
            return None if x is None else x[None]
        widths = [(0, count * size - length), *[(0, 0)] * (x.ndim - 1)]
        padded = jnp.pad(x, widths) if count * size > length else x
        return padded.reshape(count, size, *x.shape[1:])

    rows = jnp.arange(count * size).reshape(count, size)
    operands = blocks(query), rows, blocks(limits.bias), blocks(limits.mask)
    outs = [
        _band(
            rules,
            last - first,
            [_part(x, first, last) for x in operands],
            key[:seen],
            value[:seen],
            limits,
        )
        for first, last, seen in _bands(rules, limits, count, size, keys)
    ]
    out, residual = (jnp.concatenate(parts) for parts in zip(*outs, strict=True))
    return (
        out.reshape(-1, heads, out.shape[-1])[:length],
        residual.reshape(-1, heads)[:length],
    )


def _bands(
    rules: _Rules, limits: _Limits, count: int, size: int, keys: int
) -> list[tuple[int, int, int]]:
    """Returns (first block, end block, number of keys used) for each band of blocks of queries.

    If a causal mask is the only limit, the keys above the diagonal are omitted. With other limits,
    a query may attend to no key; the result is then the average of the values of all keys.
    """
    if not rules.is_causal or rules.window is not None or any(x is not None for x in limits):
        return [(0, count, keys)]
    edges = [count * k // _BANDS for k in range(_BANDS + 1)]
    return [(a, b, min(keys, b * size)) for a, b in pairwise(edges) if a < b]


def _part(x: Array | None, first: int, last: int) -> Array | None:
    """Returns blocks `first` to `last` (exclusive) of `x`, or `x` itself if all share one block."""
    return x if x is None or x.shape[0] == 1 else x[first:last]


def _band(
    rules: _Rules,
    count: int,
    operands: list[Array | None],
    key: Array,
    value: Array,
    limits: _Limits,
) -> tuple[Array, Array]:
    """Computes attention for blocks of queries in sequence, with the same keys."""

    def of_block(
        query: Array, rows: Array, bias: Array | None, mask: Array | None
    ) -> tuple[Array, Array]:
        return _attend(rules, query, key, value, rows, limits._replace(bias=bias, mask=mask))

    return _each(checkpoint(of_block), count, True, *operands)


@partial(jit, static_argnums=(0, 5), inline=True)
def _attention(
    rules: _Rules, query: Array, key: Array, value: Array, limits: _Limits, by_blocks: bool
) -> tuple[Array, Array]:
    """Computes attention for all batches and heads.

    query [B, T, K, G, H], key and value [B, S, K, H]
    -> output [B, T, K, G, H], residual [B, T, K, G].
    """

    def of_head(query: Array, key: Array, value: Array, limits: _Limits) -> tuple[Array, Array]:
        if by_blocks:
            return _in_blocks(rules, query, key, value, limits)
        return _attend(rules, query, key, value, jnp.arange(query.shape[0]), limits)

    def of_batch(query: Array, key: Array, value: Array, limits: _Limits) -> tuple[Array, Array]:
        heads_first = [jnp.swapaxes(x, 0, 1) for x in (query, key, value)]
        out, residual = _each(of_head, query.shape[1], by_blocks, *heads_first, limits)
        return jnp.swapaxes(out, 0, 1), jnp.swapaxes(residual, 0, 1)

    return _each(of_batch, query.shape[0], by_blocks, query, key, value, limits)


def _by_head(name: str, x: ArrayLike | None, shape: tuple[int, ...], kv_heads: int) -> Array | None:
    """Reshapes a bias or mask to [B|1, K|1, T|1, G|1, S|1].

    Raises:
      ValueError: if it does not broadcast to `shape` = (B, N, T, S).
    """
    if x is None:
        return None
    x = jnp.asarray(x)
    x = lax.expand_dims(x, range(4 - x.ndim))
    if x.ndim != 4 or any(n not in (1, m) for n, m in zip(x.shape, shape, strict=True)):
        raise ValueError(
            f"dot_product_attention: {name} must have at most four axes and broadcast to (batches, "
            f"heads, queries, keys) = {shape}, but its shape is {x.shape}"
        )
    heads = (1, 1) if x.shape[1] == 1 else (kv_heads, shape[1] // kv_heads)
    return jnp.swapaxes(x.reshape(x.shape[0], *heads, *x.shape[2:]), 2, 3)


def _lengths(name: str, x: ArrayLike | None, batches: int) -> Array | None:
    if x is None:
        return None
    x = jnp.asarray(x)
    if x.shape != (batches,) or x.dtype != np.int32:
        raise ValueError(
            f"dot_product_attention: {name} must be int32[{batches}], with one length for each "
            "batch element, "
            f"but got {x.dtype}{list(x.shape)}"
        )
    return x


def _check_operands(query: Array, key: Array, value: Array) -> None:
    if query.ndim not in (3, 4) or not query.ndim == key.ndim == value.ndim:
        raise ValueError(
            "dot_product_attention: query, key and value must have axes (length, heads, features) "
            f"or (batch, length, heads, features), but got shapes {query.shape}, {key.shape} and "
            f"{value.shape}"
        )
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            "dot_product_attention: query, key and value must have equal dtypes, but got "
            f"{query.dtype}, {key.dtype} and {value.dtype}"
        )
    if key.shape != value.shape:
        raise ValueError(
            "dot_product_attention: key and value must have the same shape, but got "
            f"{key.shape} and {value.shape}"
        )
    same = query.ndim == 3 or query.shape[0] == key.shape[0]
    heads, kv_heads = query.shape[-2], key.shape[-2]
    if not same or query.shape[-1] != key.shape[-1] or not kv_heads or heads % kv_heads:
        raise ValueError(
            "dot_product_attention: query and key must have the same batch and feature sizes, and "
            "the head count of query must be a multiple of that of key, but got shapes "
            f"{query.shape} and {key.shape}"
        )


def _window(window: int | tuple[int, int] | None) -> tuple[int, int] | None:
    return (window, window) if isinstance(window, int) else window


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: Literal["xla", "cudnn"] | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """Computes softmax(scale * query key^T + bias) value for each head.

    For long sequences, the logits of all queries and keys are not materialized at once, so that
    memory grows with T + S instead of T S.

    Args:
      query: [B, T, N, H], or [T, N, H] without batches.
      key, value: [B, S, K, H], or [S, K, H]; N must be a multiple of K. If K = N, each query head
        has its own keys; if K < N, each group of N / K query heads shares the keys of one head
        (grouped-query attention, or multi-query attention if K = 1).
      bias: array that broadcasts to [B, N, T, S], added to the logits.
      mask: boolean array that broadcasts to [B, N, T, S]; True where a query attends to a key.
      scale: factor of the logits; 1 / sqrt(H) by default.
      is_causal: whether query t attends only to keys s <= t.
      query_seq_lengths: int32 [B], number of valid queries; the results of the others are 0.
      key_value_seq_lengths: int32 [B], number of valid keys; the others are masked.
      local_window_size: pair (l, r): query t attends only to keys t - l to t + r. An integer stands
        for both l and r.
      implementation: None or "xla"; "cudnn" is not available on CPUs.
      return_residual: whether to return the logarithms of the softmax denominators as well.

    Returns: array of the shape and dtype of query; with `return_residual`, a pair of this array and
      the residual [B, T, N] or [T, N]. For a query that attends to no key, the result is the mean
      of all values.

    Raises:
      ValueError: if shapes or dtypes do not match, or the implementation is unknown.
      RuntimeError: if the implementation is "cudnn".

    Example:
      >>> x = jnp.zeros((3, 1, 1))  # three positions, a head, a feature
      >>> y = jnp.array([[[1.0]], [[3.0]], [[5.0]]])
      >>> nn.dot_product_attention(x, x, y, is_causal=True).ravel()
      Array([1., 2., 3.], dtype=float32)
    """
    check_arraylike("dot_product_attention", query, key, value)
    q, k, v = jnp.asarray(query), jnp.asarray(key), jnp.asarray(value)
    if implementation == "cudnn":
        raise RuntimeError(
            "dot_product_attention: implementation='cudnn' requires a GPU with cuDNN, but the device "
            "is a CPU; omit `implementation`"
        )
    if implementation not in (None, "xla"):
        raise ValueError(
            "dot_product_attention: implementation must be None or 'xla', but got "
            f"{implementation!r}"
        )
    _check_operands(q, k, v)
    has_batches = q.ndim == 4
    if not has_batches:
        q, k, v = q[None], k[None], v[None]
    (batches, length, heads, features), (keys, kv_heads) = q.shape, k.shape[1:3]
    shape = (batches, heads, length, keys)
    seen = _by_head("mask", mask, shape, kv_heads)
    if seen is not None and seen.dtype != np.bool_:
        raise ValueError(f"dot_product_attention: mask must be boolean, but got {seen.dtype}")
    key_lengths = _lengths("key_value_seq_lengths", key_value_seq_lengths, batches)
    if key_lengths is not None:
        key_lengths = key_lengths.reshape(batches, 1, 1, 1, 1)
    limits = _Limits(_by_head("bias", bias, shape, kv_heads), seen, key_lengths)
    factor = features**-0.5 if scale is None else float(scale)
    rules = _Rules(factor, bool(is_causal), _window(local_window_size))
    grouped = q.reshape(batches, length, kv_heads, heads // kv_heads, features)
    out, residual = _attention(rules, grouped, k, v, limits, math.prod(shape) > _WHOLE)
    out = out.reshape(q.shape)
    query_lengths = _lengths("query_seq_lengths", query_seq_lengths, batches)
    if query_lengths is not None:
        valid = jnp.arange(length)[None, :] < query_lengths[:, None]
        out = jnp.where(valid[:, :, None, None], out, 0)
    # As in JAX, the residual is meant for custom derivatives, and has no derivative itself.
    residual = lax.stop_gradient(residual.reshape(batches, length, heads))
    if not has_batches:
        out, residual = out[0], residual[0]
    return (out, residual) if return_residual else out
