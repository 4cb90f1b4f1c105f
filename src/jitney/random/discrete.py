"""Choices, categorical distributions and permutations."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.diagnostics.errors import ConcretizationTypeError
from jitney.core.tracing.trace import Tracer, revealed
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.array.placement import placed
from jitney.primitives.elementwise.convert import as_value
from jitney.random.checks import shape_of
from jitney.random.keys import check_key, random_bits, split
from jitney.random.normals import gumbel
from jitney.random.uniforms import randint, uniform

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.types.avals import Shape
    from jitney.core.typing import Array, ArrayLike, ShapeLike


def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Randomly permutes the slices of `x` along `axis`, or the integers 0 ... x - 1.

    Args:
      key: PRNG key.
      x: array, or static integer.
      axis: axis to permute.
      independent: whether to permute each vector along `axis` independently.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: array of the shape and dtype of `x`; integers [x] if `x` is a scalar.

    Raises:
      TypeError: if `x` is a scalar other than an integer.
      ValueError: if the axis is out of bounds.

    Example:
      >>> random.permutation(random.key(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
      >>> random.permutation(random.key(0), jnp.array([[1, 2], [3, 4], [5, 6]]))
      Array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    key, _ = check_key("permutation", key)
    axis = _axis_of("permutation", axis, max(np.ndim(x), 1))
    if not np.ndim(x):
        if not dtypes.issubdtype(get_aval(x).dtype, np.integer):
            raise TypeError(
                "jax.random.permutation: `x` must be an array, or an integer n to permute the "
                f"numbers 0 ... n - 1, but got {x!r}"
            )
        return placed(_shuffle(key, jnp.arange(_count_of(x)), 0), None, out_sharding)
    if independent or np.ndim(x) == 1:
        return placed(_shuffle(key, x, axis), None, out_sharding)
    order = _shuffle(key, jnp.arange(np.shape(x)[axis]), 0)
    return placed(jnp.take(x, order, axis, unique_indices=True), None, out_sharding)


def _count_of(n: Any) -> int:
    if isinstance(n, Tracer):
        raise ConcretizationTypeError(n, "A number of elements determines a shape; make it static.")
    return operator.index(n)


def _axis_of(name: str, axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"jax.random.{name}: axis {axis} is out of bounds: an array of rank {ndim} has "
            + (f"the axes {-ndim} to {ndim - 1}" if ndim else "no axes")
        )
    return axis % ndim


@jit_when_traced(static_argnames=("axis",))
def _shuffle(key: Array, x: ArrayLike, axis: int) -> Array:
    # Sorting by random words permutes uniformly, except for equal words. Enough rounds make a
    # biased order unlikely: with n elements and 32-bit words, each round fails with a probability
    # below n^2 / 2^33.
    size = math.prod(np.shape(x))
    rounds = int(np.ceil(3 * np.log(max(1, size)) / np.log(np.iinfo(np.uint32).max)))
    for _ in range(rounds):
        key, subkey = split(key)
        words = random_bits(subkey, 32, np.shape(x))
        _, x = lax.sort_key_val(words, x, axis)
    return jnp.asarray(x)


def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Draws elements of `a` at random.

    Args:
      key: PRNG key.
      a: array, or static integer n, which stands for 0 ... n - 1.
      shape: shape of the draws.
      replace: whether an element can be drawn more than once.
      p: probabilities [n] of the elements; equal by default.
      axis: axis of `a` from which to draw.
      mode: mode of `gumbel`; used only if `p` is given and `replace` is False.

    Returns: array of `a`'s shape with `axis` replaced by `shape`.

    Raises:
      ValueError: if elements are to be drawn and `a` is empty, `p` does not have shape [n], or more
        elements are to be drawn without replacement than `a` has.

    Example:
      >>> random.choice(random.key(0), jnp.array([10, 20, 30]), (4,))
      Array([20, 10, 30, 20], dtype=int32)
      >>> random.choice(random.key(0), 5, (3,), replace=False)
      Array([0, 1, 4], dtype=int32)
    """
    key, _ = check_key("choice", key)
    if not isinstance(shape, Sequence):
        raise TypeError(f"jax.random.choice: `shape` must be a sequence, but got {shape!r}")
    shape = shape_of(shape)
    a = revealed(a)
    array = None if not np.ndim(a) else jnp.asarray(a)
    if array is None:
        n_inputs = _count_of(a)
        axis = 0
    else:
        axis = _axis_of("choice", axis, array.ndim)
        n_inputs = array.shape[axis]
    n_draws = math.prod(shape)
    if n_draws == 0:
        result_shape = shape
        if array is not None:
            result_shape = array.shape[:axis] + shape + array.shape[axis + 1 :]
        dtype = dtypes.canonicalize_dtype(int) if array is None else array.dtype
        return jnp.zeros(result_shape, dtype=dtype)
    if n_inputs <= 0:
        raise ValueError(
            f"jax.random.choice: `a` has {max(n_inputs, 0)} elements to draw from, so one of the "
            f"sizes in `shape` must be 0, but it is {shape}"
        )
    if not replace and n_draws > n_inputs:
        raise ValueError(
            f"jax.random.choice: with replace=False, at most {n_inputs} elements can be drawn, but "
            f"shape={shape} has {n_draws}; pass a smaller shape, or replace=True"
        )
    if p is None and not replace:
        shuffled = permutation(key, n_inputs if array is None else array, axis)
        head = lax.slice_in_dim(shuffled, 0, n_draws, axis=axis)
        return jnp.reshape(head, head.shape[:axis] + shape + head.shape[axis + 1 :])
    if p is None:
        drawn = randint(key, shape, 0, n_inputs)
    else:
        drawn = _positions_by_weight(key, p, n_inputs, shape, replace, mode)
    return drawn if array is None else jnp.take(array, drawn, axis=axis)


def _positions_by_weight(
    key: Array, p: ArrayLike, n_inputs: int, shape: Shape, replace: bool, mode: str | None
) -> Array:
    """Draws positions below `n_inputs` with probabilities `p`; returns integers of shape `shape`.

    Raises:
      ValueError: if the shape of `p` is not (n_inputs,).
    """
    weights = as_value(promote_dtypes_inexact(p)[0])
    if weights.shape != (n_inputs,):
        raise ValueError(
            f"jax.random.choice: `p` must hold one probability for each of the {n_inputs} elements "
            f"along `axis`, but has shape {weights.shape}"
        )
    if replace:
        sums = jnp.cumsum(weights)
        r = sums[-1] * (1 - uniform(key, shape, dtype=sums.dtype))
        return jnp.searchsorted(sums, r)
    # The indices of the largest values of log p plus Gumbel variables are a draw without
    # replacement (Vieira, 2014).
    scores = gumbel(key, (n_inputs,), dtype=weights.dtype, mode=mode) + jnp.log(weights)
    return lax.top_k(scores, math.prod(shape))[1].reshape(shape)


def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws indices with probabilities proportional to exp(logits).

    Args:
      key: PRNG key.
      logits: floating array of unnormalized log probabilities.
      axis: axis of the categories.
      shape: shape of the result; by default the shape of `logits` without `axis`, which must
        broadcast to its trailing axes.
      replace: whether an index can be drawn more than once along the leading axes of `shape`.
      mode: mode of `gumbel`.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: integer array of shape `shape`.

    Raises:
      ValueError: if shapes do not match, or more indices are drawn without replacement than there
        are categories.

    Example:
      >>> logits = jnp.log(jnp.array([0.1, 0.2, 0.7]))
      >>> random.categorical(random.key(0), logits, shape=(6,))
      Array([1, 2, 2, 1, 2, 2], dtype=int32)
    """
    key, _ = check_key("categorical", key)
    logits = jnp.asarray(logits)
    axis = _axis_of("categorical", axis, logits.ndim)
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    if shape is None:
        shape = batch
    else:
        shape = shape_of(shape)
        tail = shape[len(shape) - len(batch) :]
        if len(tail) < len(batch) or any(n not in (1, m) for n, m in zip(batch, tail, strict=True)):
            raise ValueError(
                "jax.random.categorical: the shape of `logits` without the axis of categories, "
                f"{batch}, must broadcast to the trailing axes of shape={shape}"
            )
    prefix = shape[: len(shape) - len(batch)]
    if not replace:
        n_draws = math.prod(prefix)
        n_inputs = logits.shape[axis]
        if n_draws > n_inputs:
            raise ValueError(
                f"jax.random.categorical: with replace=False, at most {n_inputs} categories can "
                f"be drawn, but {n_draws} draws were requested; pass a smaller shape, or "
                "replace=True"
            )
        scores = logits + gumbel(key, logits.shape, logits.dtype, mode=mode)
        _, drawn = lax.top_k(scores, n_draws, axis=axis)
        drawn = jnp.moveaxis(drawn, axis, 0) if logits.ndim > 1 else drawn
        drawn = jnp.reshape(drawn, shape) if drawn.shape != shape else drawn
        return placed(drawn, None, out_sharding)
    axis_from_end = axis - logits.ndim
    noise_shape = list(shape[len(shape) - len(batch) :])
    noise_shape.insert(axis % logits.ndim, logits.shape[axis])
    noise = gumbel(key, (*prefix, *noise_shape), logits.dtype, mode=mode)
    spread = lax.expand_dims(logits, tuple(range(len(prefix)))) if prefix else logits
    return placed(jnp.argmax(noise + spread, axis=axis_from_end), None, out_sharding)
