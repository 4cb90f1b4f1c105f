"""`random_gamma`: samples of the gamma distribution, by rejection sampling of each element.

G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000):
with d = a - 1/3, c = 1 / sqrt(9 d) and v = (1 + c x)^3 for a normal x, the proposal d v is accepted
with a probability that makes it gamma distributed. The method requires a >= 1; for smaller a, a
sample for a + 1 is multiplied by u^(1/a) with a uniform u (section 6 of the article), which cannot
underflow in log space.

Each element has a separate key, so its sample does not depend on other elements, and the loop over
proposals runs in SIMD lanes until all lanes have accepted one. Bits are used in the same order as
in JAX, which has an inner loop that draws normal numbers until v is positive. Here, both loops are
merged: a lane that only needs another normal number keeps its outer key.

The derivative is implicit (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients",
NeurIPS 2018): at a fixed value of the distribution function F, dx/da = -(dF/da) / (dF/dx).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.program.key_reuse import uses_keys
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules
from jitney.primitives.array.annotations import optimization_barrier
from jitney.primitives.array.creation import full_like
from jitney.primitives.array.shape import reshape
from jitney.primitives.control import mapping
from jitney.primitives.control.while_loop import while_loop
from jitney.primitives.elementwise.binary import max as maximum, pow as power
from jitney.primitives.elementwise.select import select
from jitney.primitives.elementwise.special import erf_inv, random_gamma_grad
from jitney.primitives.elementwise.unary import exp, log, log1p, neg, sqrt
from jitney.primitives.random.bits import key_dtype_of, random_split_p
from jitney.primitives.random.elements import split_elements, uniform_elements
from jitney.primitives.reduction.reduce import reduce_or
from jitney.transforms.key_words import evaluate_in_words

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Builder, Dims, Node, Value

random_gamma_p = declare("random_gamma")


@random_gamma_p.abstract
def _random_gamma_abstract(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    key_dtype_of(keys, "random_gamma")
    if not dtypes.issubdtype(a.dtype, np.floating):
        raise TypeError(f"random_gamma: `a` must have a floating-point dtype, but got {a}")
    if a.shape[: keys.ndim] != keys.shape:
        raise ValueError(
            "random_gamma: the leading axes of `a` must be those of the keys, but got "
            f"a: {a} and keys: {keys}"
        )
    return shaped_array(a.shape, a.dtype)


random_gamma_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")


@random_gamma_p.lower_with_avals
def _random_gamma_lower_with_avals(
    b: Builder, avals: Sequence[AbstractValue], *nodes: Node, log_space: bool
) -> Node:
    def program(keys: Array, a: Array) -> list[Array]:
        return [_draw(keys, a, log_space)]

    jaxpr, _, consts = trace_to_jaxpr(program, avals, DebugInfo("random_gamma", "random_gamma"))
    (out,) = lowering.inline(b, ClosedJaxpr(jaxpr, consts), nodes)
    return out


def _draw(keys: Array, a: Array, log_space: bool) -> Array:
    """Draws a sample for each element of `a` [*keys, *shape]."""
    n_keys = len(keys.shape)
    each = math.prod(a.shape[n_keys:])
    element_keys = reshape(random_split_p.bind(keys, shape=(each,)), (a.size,))
    flat = reshape(a, (a.size,))
    if dtypes.words_of_key(keys.dtype):
        # Generators may draw differently from arrays of keys than from single keys: draw one at a
        # time.
        def one(pair: tuple[Array, Array]) -> Array:
            key, x = (reshape(y, (1,)) for y in pair)
            return reshape(_marsaglia_tsang(key, x, log_space), ())

        return reshape(mapping.map(one, (element_keys, flat)), a.shape)
    return reshape(_marsaglia_tsang(element_keys, flat, log_space), a.shape)


@random_gamma_p.key_words
def _random_gamma_key_words(
    avals: Sequence[AbstractValue], words: Value, a: Value, *, log_space: bool
) -> Value:
    def program(keys: Array, a: Array) -> list[Array]:
        return [_draw(keys, a, log_space)]

    jaxpr, _, consts = trace_to_jaxpr(program, avals, DebugInfo("random_gamma", "random_gamma"))
    (out,) = evaluate_in_words(ClosedJaxpr(jaxpr, consts), (words, a))
    return out


def _marsaglia_tsang(keys: Array, a: Array, log_space: bool) -> Array:
    """Draws gamma samples, or their logarithms, for parameters `a` [n] with keys [n]."""
    dtype = np.dtype(a.dtype)

    def number(value: float) -> np.ndarray:
        return np.array(value, dtype)

    one, third = number(1), number(1 / 3)
    is_large = a >= one
    d = select(is_large, a, a + one) - third
    c = third / sqrt(d)
    proposal_keys, boost_keys = split_elements(keys, 2)

    def any_active(state: Sequence[Any]) -> Array:
        return reduce_or(state[0], (0,))

    def propose(state: Sequence[Any]) -> list[Array]:
        active, redraws, outer, inner, _ = state
        next_outer, fresh, uniform_key = split_elements(outer, 3)
        next_inner, normal_key = split_elements(select(redraws, inner, fresh), 2)
        x = _normal(normal_key, dtype)
        root = one + x * c
        not_positive = root <= number(0)
        square, v = x * x, (root * root) * root
        u = uniform_elements(uniform_key, dtype)
        # The first bound, a polynomial, avoids logarithms when samples are drawn one at a time.
        rejected = (u >= one - number(0.0331) * (square * square)) & (
            log(u) >= square * number(0.5) + d * ((one - v) + log(v))
        )
        new = (
            not_positive | rejected,
            not_positive,
            select(not_positive, outer, next_outer),
            next_inner,
            v,
        )
        return [select(active, x, y) for x, y in zip(new, state, strict=True)]

    yes = full_like(a, True, bool)
    state = [yes, full_like(a, False, bool), proposal_keys, proposal_keys, full_like(a, 0)]
    v = while_loop(any_active, propose, state)[-1]
    u = one - uniform_elements(boost_keys, dtype)
    if not log_space:
        # The barrier hides the exponent from the compiler: the last bits of a power with a known
        # exponent could differ.
        boost = power(u, optimization_barrier(one / a))
        return (d * v) * select(is_large, full_like(a, 1), boost)
    # As in JAX, log(u) is the negative of an exponential sample, not the logarithm of the rounded
    # u.
    log_u = log1p(neg(uniform_elements(boost_keys, dtype)))
    boost = select(is_large | (log_u == number(0)), full_like(a, 0), log_u * (one / a))
    return log(d) + log(v) + boost


def _normal(keys: Array, dtype: np.dtype) -> Array:
    """Draws a normal number for each key, as `jax.random.normal` does."""
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    u = uniform_elements(keys, dtype) * (np.array(1, dtype) - low) + low
    scale: Any = np.array(np.sqrt(2), dtype)
    return scale * erf_inv(maximum(low, u))


def _slope(t: Value, drawn: Value, keys: Value, a: Value, *, log_space: bool) -> Value:
    """Computes the tangent of a sample at a fixed value of the distribution function."""
    if not log_space:
        return t * random_gamma_grad(a, drawn)
    x = exp(drawn)
    zero = np.array(0, x.dtype)
    x = select(x == zero, full_like(x, dtypes.finfo(x.dtype).tiny), x)
    return t * (random_gamma_grad(a, x) / x)


rules.defjvp2(random_gamma_p, None, _slope)
random_gamma_p.absent("transpose", why="not linear")


@random_gamma_p.batch
def _random_gamma_batch(args: Sequence[Value], dims: Dims, *, log_space: bool) -> tuple[Value, int]:
    size = rules.batch_size(args, dims)
    keys, a = (rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True))
    return random_gamma_p.bind(keys, a, log_space=log_space), 0


uses_keys(random_gamma_p, consumes=(0,))
