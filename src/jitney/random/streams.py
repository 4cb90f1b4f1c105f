"""Rejection sampling, whose loops run until every element has finished.

Samplers that repeat a step until each element has finished draw random numbers for all elements in
each round, from keys that are split from round to round. If the words of a generator depend only on
key and position (threefry with `jax_threefry_partitionable`), an element can compute its own word
of a round, and hence run exactly as many rounds as it needs. The loop then runs within the lanes of
SIMD vectors, and no array is written to memory between rounds. Both
implementations yield the same random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.settings import config
from jitney.core.util.thresholds import threshold
from jitney.primitives.random import bits as ops, generators
from jitney.primitives.random.elements import split_elements
from jitney.primitives.random.floats import bits_per_float, unit_floats
from jitney.random.keys import key_impl, random_bits, split

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.random.checks import Shape

# Number of rounds for which keys are precomputed, and minimum number of elements for doing so.
_ROUNDS, _MANY = threshold(32, small=2), threshold(1024, small=8)
_ONE = np.int32(1)

State = list[Any]
Step = Callable[[list[Any], Sequence[Any], State], tuple[Any, State]]
Proposal = Callable[[Any, Any], tuple[Any, Any]]


def repeat(
    key: Array,
    shape: Shape,
    dtype: np.dtype,
    parts: Sequence[str],
    step: Step,
    parameters: Sequence[Array],
    active: Array,
    state: State,
) -> State:
    """Repeats `step` for each element while it is active; returns the final states.

    Args:
      key: PRNG key.
      shape: shape of the draw.
      dtype: floating dtype of the uniform variables that a step uses.
      parts: use of each of the keys into which the key of a round is split: "next" is the key of
        the next round, "draw" yields a uniform variable in [0, 1) for each element.
      step: elementwise function (uniform variables, parameters, state) -> (whether to continue,
        next state). An element that is not active keeps its state.
      parameters: arrays [*shape] that stay the same in all rounds.
      active: mask [*shape] of the elements that take part in the first round.
      state: arrays [*shape].
    """
    if _words_are_independent(key) and math.prod(shape) < 1 << 32:
        return _repeat_per_element(key, shape, dtype, parts, step, parameters, active, state)

    def one_round(carry: Sequence[Any]) -> State:
        active, keys, *state = carry
        new = split(keys, len(parts))
        drawn = [_uniform(new[i], shape, dtype) for i in _draws(parts)]
        still, state_after = step(drawn, parameters, state)
        selected = [lax.select(active, x, y) for x, y in zip(state_after, state, strict=True)]
        return [active & still, new[parts.index("next")], *selected]

    return list(lax.while_loop(_any_active, one_round, [active, key, *state])[2:])


def redraw_until_accepted(key: Array, shape: Shape, dtype: np.dtype, propose: Proposal) -> Array:
    """Repeats `propose` until each element has accepted a value; returns the last accepted values.

    An element that has accepted a value continues together with the others, so that its value
    depends on the number of rounds, as in JAX.

    Args:
      key: PRNG key.
      shape: shape of the draw.
      dtype: floating dtype of the uniform variables and the values.
      propose: function of two uniform variables in [0, 1) that returns (value, whether it is
        accepted), arrays [*shape].
    """

    def one_round(carry: Sequence[Any]) -> State:
        missing, keys, value = carry
        following, first, second = (split(keys, 3)[i] for i in range(3))
        proposed, accepted = propose(*(_uniform(k, shape, dtype) for k in (first, second)))
        return [missing & ~accepted, following, lax.select(accepted, proposed, value)]

    start = [lax.full(shape, True), key, lax.full(shape, -1, dtype)]
    return lax.while_loop(_any_active, one_round, start)[2]


def _any_active(carry: Sequence[Any]) -> Array:
    return jnp.any(carry[0])


def _draws(parts: Sequence[str]) -> list[int]:
    return [i for i, part in enumerate(parts) if part == "draw"]


def _words_are_independent(key: Array) -> bool:
    return key_impl(key) == generators.threefry.name and config.threefry_partitionable_enabled()


def _uniform(key: Array, shape: Shape, dtype: np.dtype) -> Array:
    return unit_floats(random_bits(key, bits_per_float(dtype), shape), dtype)


def _repeat_per_element(
    key: Array,
    shape: Shape,
    dtype: np.dtype,
    parts: Sequence[str],
    step: Step,
    parameters: Sequence[Array],
    active: Array,
    state: State,
) -> State:
    """Implements `repeat` so that each element runs its rounds independently."""
    size = math.prod(shape)
    position = lax.iota(np.dtype(np.uint32), size)

    def flat(x: Array) -> Array:
        return lax.reshape(x, (size,))

    of_elements = [flat(x) for x in parameters]

    def stepped(keys: Sequence[Array], state: State) -> tuple[Array, State]:
        drawn = [unit_floats(_word_at(k, position, dtype), dtype) for k in keys]
        return step(drawn, of_elements, state)

    def with_separate_keys(key: Array, active: Array, state: State) -> State:
        def one_round(carry: Sequence[Any]) -> State:
            active, keys, *state = carry
            new = split_elements(keys, len(parts))
            still, state_after = stepped([new[i] for i in _draws(parts)], state)
            after = [still, new[parts.index("next")], *state_after]
            return [lax.select(active, x, y) for x, y in zip(after, carry, strict=True)]

        keys = jnp.broadcast_to(key, (size,))
        return list(lax.while_loop(_any_active, one_round, [active, keys, *state])[2:])

    active, state = flat(active), [flat(x) for x in state]
    if size < _MANY:
        out = with_separate_keys(key, active, state)
    else:
        left, key, state = _first_rounds(key, parts, stepped, active, state)
        out = lax.cond(jnp.any(left), lambda: with_separate_keys(key, left, state), lambda: state)
    return [lax.reshape(x, shape) for x in out]


def _first_rounds(
    key: Array,
    parts: Sequence[str],
    stepped: Callable[[Sequence[Array], State], tuple[Any, State]],
    active: Array,
    state: State,
) -> tuple[Array, Array, State]:
    """Runs rounds whose keys are precomputed; returns (active elements, key, states)."""

    def split_once(key: Array, _: None) -> tuple[Array, list[Array]]:
        new = split(key, len(parts))
        return new[parts.index("next")], [key, *(new[i] for i in _draws(parts))]

    # There is one row more than rounds, which an element that has run all rounds would read.
    _, (keys, *tables) = lax.scan(split_once, key, None, length=_ROUNDS + 1)

    def one_round(carry: Sequence[Any]) -> State:
        going, _, number, *state = carry
        of_round = [
            table.at[number].get(mode="promise_in_bounds", wrap_negative_indices=False)
            for table in tables
        ]
        still, state_after = stepped(of_round, state)
        number_after = number + _ONE
        after = [still & (number_after < np.int32(_ROUNDS)), still, number_after, *state_after]
        return [lax.select(going, x, y) for x, y in zip(after, carry, strict=True)]

    number = lax.full(active.shape, 0, np.dtype(np.int32))
    _, active, _, *state = lax.while_loop(_any_active, one_round, [active, active, number, *state])
    return active, keys[_ROUNDS], state


def _word_at(keys: Array, position: Array, dtype: np.dtype) -> Array:
    """Returns the word at `position` of a draw from `keys`."""
    # `fold_in` computes the same hash of (0, position) as a draw.
    pairs = ops.random_unwrap_p.bind(ops.random_fold_in_p.bind(keys, position))
    first, second = (lax.index_in_dim(pairs, i, 1, keepdims=False) for i in range(2))
    n_bits = bits_per_float(dtype)
    if n_bits == 64:
        high = lax.convert_element_type(first, np.uint64)
        low = lax.convert_element_type(second, np.uint64)
        return lax.bitwise_or(lax.shift_left(high, np.uint64(32)), low)
    word = lax.bitwise_xor(first, second)
    return word if n_bits == 32 else lax.convert_element_type(word, np.dtype(f"uint{n_bits}"))
