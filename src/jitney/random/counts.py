"""Distributions of counts: Poisson, binomial, multinomial.

For small means the count is the number of steps of a random walk. For large means it is drawn by
transformed rejection: W. Hörmann, "The transformed rejection method for generating Poisson random
variables" (PTRS), Insurance: Mathematics and Economics 12 (1993), and "The generation of binomial
random variates" (BTRS), J. Statist. Comput. Simul. 46 (1993). The method is chosen for each element
by its parameters; rejection is skipped if no element needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.array.placement import placed
from jitney.random import approximate, streams
from jitney.random.checks import Shape, broadcast_shape, inexact_dtype, integer_dtype, shape_of
from jitney.random.keys import check_key, key_impl, split

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike

# Smaller means use the walk. This is Hörmann's bound for both rejection methods.
_SMALL_MEAN = 10

_F32 = np.dtype(np.float32)


def _constant(value: float, dtype: np.dtype) -> Any:
    return np.array(value, dtype)


def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the Poisson distribution of mean `lam`.

    For means below ten, uniform variables are multiplied, as sums of logarithms (D. E. Knuth, "The
    Art of Computer Programming" 2, section 3.4.1); for larger means, Hörmann's PTRS is used. Where
    `lam` is negative or NaN, the result is -1, which wraps around in unsigned dtypes.

    Args:
      key: PRNG key; of the generator threefry2x32 unless `method` is "approximate".
      lam: means, converted to float32 (to the default float dtype for the approximate method).
      shape: shape of the result, to which `lam` broadcasts; by default the shape of `lam`.
      dtype: integer dtype; int32 (int64 under x64) by default.
      method: "exact", or "approximate" for a faster formula without loops, which maps normal
        variables to Poisson variables; errors of probabilities are below 1e-4.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not an integer dtype, `method` is unknown, or `lam` does not
        broadcast to `shape`.
      NotImplementedError: if the method is "exact" and the key is of another generator.

    Example:
      >>> round(float(random.poisson(random.key(0), 3.0, (10_000,)).mean()), 1)
      3.0
    """
    key, _ = check_key("poisson", key)
    is_close = approximate.is_approximate("poisson", method)
    name = key_impl(key)
    if name != "threefry2x32" and not is_close:
        raise NotImplementedError(
            f"jax.random.poisson: the exact method supports only keys of threefry2x32, as in JAX, "
            f'but got a key of {name}; use a threefry2x32 key, or method="approximate"'
        )
    try:
        asked = integer_dtype("poisson", dtype)
    except TypeError as error:
        raise ValueError(str(error)) from None
    final = broadcast_shape("poisson", shape, np.shape(lam))
    lam = jnp.broadcast_to(jnp.asarray(lam), final)
    if is_close:
        lam = lax.convert_element_type(lam, dtypes.canonicalize_dtype(np.float64))
        return placed(approximate.poisson(key, lam, shape=final, dtype=asked), None, out_sharding)
    lam = lax.convert_element_type(lam, _F32)
    return placed(_poisson(key, lam, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _poisson(key: Array, lam: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    walks = jnp.isnan(lam) | (lam < _constant(_SMALL_MEAN, _F32))
    small = lax.select(walks, lam, lax.full_like(lam, 0))
    large = lax.select(walks, lax.full_like(lam, 1e5), lam)
    walked = _poisson_walk(key, small, dtype)
    drawn = _unless_all(
        walks, lambda: _poisson_rejection(key, large, dtype), lax.full(shape, 0, dtype)
    )
    chosen = lax.select(walks, walked, drawn)
    return lax.select(lam == _constant(0, _F32), lax.full_like(chosen, 0), chosen)


def _unless_all(walks: Array, draw: Callable[[], Array], otherwise: Array) -> Array:
    """Returns `draw()`, or `otherwise` if all elements use the walk."""
    return lax.cond(jnp.all(walks), lambda: otherwise, draw)


def _poisson_walk(key: Array, lam: Array, dtype: np.dtype) -> Array:
    """Counts the uniform factors whose product stays above exp(-lam)."""

    def step(
        drawn: list[Any], parameters: Sequence[Any], state: streams.State
    ) -> tuple[Array, streams.State]:
        (lam,), (count, log_product) = parameters, state
        log_product = log_product + lax.log(drawn[0])
        return log_product > -lam, [count + _constant(1, dtype), log_product]

    start = lax.full(lam.shape, 0, _F32)
    state = [lax.full(lam.shape, 0, dtype), start]
    active = start > -lam
    count, _ = streams.repeat(key, lam.shape, _F32, ("next", "draw"), step, [lam], active, state)
    return count - _constant(1, dtype)


def _poisson_rejection(key: Array, lam: Array, dtype: np.dtype) -> Array:
    """Draws by Hörmann's PTRS, for means of at least ten; the notation is that of the paper."""
    log_lam = lax.log(lam)
    b = _constant(0.931, _F32) + _constant(2.53, _F32) * lax.sqrt(lam)
    a = _constant(-0.059, _F32) + _constant(0.02483, _F32) * b
    inverse_alpha = _constant(1.1239, _F32) + _constant(1.1328, _F32) / (b - _constant(3.4, _F32))
    v_r = _constant(0.9277, _F32) - _constant(3.6224, _F32) / (b - _constant(2, _F32))
    half, one = _constant(0.5, _F32), _constant(1, _F32)

    def propose(u: Array, v: Array) -> tuple[Array, Array]:
        u = u - half
        us = half - lax.abs(u)
        k = lax.floor((_constant(2, _F32) * a / us + b) * u + lam + _constant(0.43, _F32))
        s = lax.log(v * inverse_alpha / (a / (us * us) + b))
        density = -lam + k * log_lam - lax.lgamma(k + one)
        inside = (us >= _constant(0.07, _F32)) & (v <= v_r)
        outside = (k < _constant(0, _F32)) | ((us < _constant(0.013, _F32)) & (v > us))
        return k, inside | (~outside & (s <= density))

    drawn = streams.redraw_until_accepted(key, lam.shape, _F32, propose)
    return lax.convert_element_type(drawn, dtype)


def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Draws from the binomial distribution of `n` trials of probability `p`, as floats.

    The rarer outcome is counted. For means up to ten, the distances between its occurrences are
    drawn from the geometric distribution (V. Kachitvichyanukul and B. Schmeiser, "Binomial random
    variate generation", CACM 31 (1988), compare such methods); otherwise Hörmann's BTRS is used.
    The result is NaN where a parameter is NaN, `n` is negative, or `p` is not in [0, 1]; elsewhere
    it is infinite where `n` is infinite.

    Args:
      key: PRNG key.
      n: numbers of trials, rounded down.
      p: probabilities, broadcast against `n`.
      shape: shape of the result; by default the broadcast shape of the parameters.
      dtype: floating dtype; float32 (float64 under x64) by default.

    Raises:
      ValueError: if `dtype` is not floating, or the parameters do not broadcast to `shape`.

    Example:
      >>> round(float(random.binomial(random.key(0), 10, 0.3, (10_000,)).mean()), 1)
      3.0
    """
    key, _ = check_key("binomial", key)
    asked = inexact_dtype("binomial", dtype)
    final = broadcast_shape("binomial", shape, np.shape(n), np.shape(p))
    # The dtype of the computation depends only on the parameters.
    parameters = promote_dtypes_inexact(n, p)
    return lax.convert_element_type(_binomial(key, *parameters, shape=final), asked)


@jit_when_traced(static_argnames=("shape",), compiled_from=0)
def _binomial(key: Array, n: ArrayLike, p: ArrayLike, *, shape: Shape) -> Array:
    n, p = jnp.broadcast_to(n, shape), jnp.broadcast_to(p, shape)
    dtype = n.dtype
    zero, one, half = (_constant(x, dtype) for x in (0, 1, 0.5))

    def spread(value: float) -> Array:
        return lax.full(shape, value, dtype)

    is_rare = p < half
    q = lax.select(is_rare, p, one - p)
    n_is_bad = jnp.isnan(n) | (n < zero)
    q_is_bad = jnp.isnan(q) | (q < zero)
    n_is_infinite = jnp.isinf(n)
    q = lax.select(q_is_bad, spread(0.01), q)
    trials = lax.floor(n)
    # Elements with an infinite number of trials use a walk of zero trials; results are replaced
    # below.
    trials = lax.select(n_is_infinite, spread(0), trials)
    walks = n_is_bad | (trials * q <= _constant(_SMALL_MEAN, dtype))
    walked = _binomial_walk(key, lax.select(walks, trials, spread(0)), q)
    drawn = _unless_all(
        walks,
        lambda: _binomial_rejection(
            key,
            lax.select(walks, spread(1e4), trials),
            lax.select(walks, spread(0.5), q),
        ),
        spread(0),
    )
    count = lax.select(walks, walked, drawn)
    is_bad = q_is_bad | n_is_bad
    count = lax.select(is_bad, spread(np.nan), count)
    count = lax.select(n_is_infinite & ~is_bad, spread(np.inf), count)
    as_is = is_rare | n_is_bad | jnp.isnan(q) | n_is_infinite
    return lax.select(as_is, count, trials - count)


def _binomial_walk(key: Array, n: Array, q: Array) -> Array:
    """Counts the geometric variables of probability q whose sum is at most n."""
    dtype = n.dtype

    def step(
        drawn: list[Any], parameters: Sequence[Any], state: streams.State
    ) -> tuple[Array, streams.State]:
        (n, log_failure), (count, trial) = parameters, state
        trial = trial + lax.ceil(lax.log(drawn[0]) / log_failure)
        return trial <= n, [count + _constant(1, dtype), trial]

    start = lax.full(n.shape, 0, dtype)
    count, _ = streams.repeat(
        key, n.shape, dtype, ("draw", "next"), step, [n, lax.log1p(-q)], start <= n, [start, start]
    )
    return count - _constant(1, dtype)


def _binomial_rejection(key: Array, n: Array, q: Array) -> Array:
    """Draws by Hörmann's BTRS, for n q >= 10, q <= 1/2; the notation is that of the paper."""
    dtype = n.dtype

    def c(value: float) -> Any:
        return _constant(value, dtype)

    half, one = c(0.5), c(1)
    deviation = lax.sqrt(n * q * (one - q))
    b = c(1.15) + c(2.53) * deviation
    a = c(-0.0873) + c(0.0248) * b + c(0.01) * q
    center = n * q + half
    v_r = c(0.92) - c(4.2) / b
    r = q / (one - q)
    alpha = (c(2.83) + c(5.1) / b) * deviation
    mode = lax.floor((n + one) * q)

    def propose(u: Array, v: Array) -> tuple[Array, Array]:
        u = u - half
        us = half - lax.abs(u)
        inside = (us >= c(0.07)) & (v <= v_r)
        k = lax.floor((c(2) * a / us + b) * u + center)
        outside = (k < c(0)) | (k > n)
        s = lax.log(v * alpha / (a / (us * us) + b))
        density = (
            (mode + half) * lax.log((mode + one) / (r * (n - mode + one)))
            + (n + one) * lax.log((n - mode + one) / (n - k + one))
            + (k + half) * lax.log(r * (n - k + one) / (k + one))
            + _stirling_tail(mode)
            + _stirling_tail(n - mode)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        return k, inside | (~outside & (s <= density))

    return streams.redraw_until_accepted(key, n.shape, dtype, propose)


# log k! - (log sqrt(2 pi) + (k + 1/2) log(k + 1) - (k + 1)) for k = 0 ... 9: table 1 of Hörmann (1993).
_STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    """Returns the error of Stirling's formula for log k!, tabulated up to k = 9.

    For larger k it returns the value of the asymptotic series at k = 9, like JAX, to reproduce the
    draws of JAX. The effect is small, as the four tails in a density nearly cancel.
    """
    dtype = k.dtype
    m = _constant(10, dtype)
    square = m * m
    series = _constant(1 / 360, dtype) - _constant(1 / 1260, dtype) / square
    beyond = (_constant(1 / 12, dtype) - series / square) / m
    tail = lax.full_like(k, beyond)
    for i, value in reversed(list(enumerate(_STIRLING_TAILS))):
        bound = _constant(i + 1 if i < 9 else 9, dtype)
        below = k < bound if i < 9 else k <= bound
        tail = lax.select(below, lax.full_like(k, value), tail)
    return tail


def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Draws from the multinomial distribution of `n` trials over categories of probabilities `p`.

    The count of each category is drawn from the binomial distribution of the remaining trials, with
    the share of the category in the remaining probability (C. S. Davis, "The computer generation of
    multinomial random variates", Comput. Statist. Data Anal. 16 (1993)).

    Args:
      key: PRNG key.
      n: numbers of trials, which broadcast to `shape` without its last axis.
      p: probabilities [*batch, categories]; they need not sum to one.
      shape: shape of the result, to which `p` broadcasts; by default the shape of `p`.
      dtype: dtype of the result; by default the floating dtype to which the parameters are
        promoted.
      unroll: unrolling of the loop over categories, as in `lax.scan`.

    Returns: counts [*shape], which sum to `n` along the last axis.

    Raises:
      ValueError: if the parameters do not broadcast to `shape`.

    Example:
      >>> x = random.multinomial(random.key(0), 10, jnp.array([0.2, 0.3, 0.5]))
      >>> x.shape, float(x.sum())
      ((3,), 10.0)
    """
    key, _ = check_key("multinomial", key)
    n, p = promote_dtypes_inexact(n, p)
    final = np.shape(p) if shape is None else shape_of(shape)
    n, p = jnp.broadcast_to(n, final[:-1]), jnp.broadcast_to(p, final)
    left = jnp.cumsum(p[..., ::-1], axis=-1)[..., ::-1]
    share = p / jnp.where(left == 0, 1, left)
    keys = split(key, final[-1])

    def one_category(trials: Array, of_category: tuple[Array, Array]) -> tuple[Array, Array]:
        key, share = of_category
        count = binomial(key, trials, jnp.clip(share, 0, 1), dtype=trials.dtype)
        return trials - count, count

    _, counts = lax.scan(one_category, n, (keys, jnp.moveaxis(share, -1, 0)), unroll=unroll)
    counts = jnp.moveaxis(counts, 0, -1)
    return counts if dtype is None else lax.convert_element_type(counts, dtype)
