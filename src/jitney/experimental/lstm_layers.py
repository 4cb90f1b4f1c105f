"""Layers of long short-term memory (LSTM), and their weights, packed in one vector; see `rnn`.

Axes in this file: B batch elements, T positions, I inputs, H hidden units, L layers times directions.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp, random
from jitney.api.jit.jit import jit
from jitney.nn import sigmoid as sigmoid, tanh as tanh

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.linalg.precision import PrecisionLike

Shape = tuple[int, ...]
Weights = dict[int, "Array"]
_State = tuple["Array", "Array"]  # hidden state, cell state
_GATES = 4


def _shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[Shape, Shape]]:
    """Returns the shapes of input and hidden weights for each layer and direction."""
    directions = 2 if bidirectional else 1
    gates = _GATES * hidden_size
    return [
        ((gates, input_size if layer == 0 else hidden_size * directions), (gates, hidden_size))
        for layer in range(num_layers)
        for _ in range(directions)
    ]


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Returns the size of the weight vector.

    Example:
      >>> from jax.experimental import rnn
      >>> rnn.get_num_params_in_lstm(3, 2, num_layers=1, bidirectional=False)
      56
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    biases = 2 * _GATES * hidden_size
    return sum(
        math.prod(of_inputs) + math.prod(of_states) + biases for of_inputs, of_states in shapes
    )


def init_lstm_weight(
    rng: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Returns a weight vector drawn uniformly from [-k, k), where k = sqrt(1 / hidden_size).

    Args:
      rng: a PRNG key.
      input_size, hidden_size, num_layers, bidirectional: as in `lstm`.

    Returns: float32 [get_num_params_in_lstm(...)].
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    k = np.sqrt(1.0 / hidden_size)
    return random.uniform(rng, (count,), np.float32, -k, k)


def unpack_lstm_weights(
    weights: Array, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[Weights, Weights, Weights, Weights]:
    """Splits a weight vector into the weights and biases of each layer and direction.

    Args:
      weights: weight vector [get_num_params_in_lstm(...)].
      input_size, hidden_size, num_layers, bidirectional: as in `lstm`.

    Returns: (input weights [4 H, I], hidden weights [4 H, H], and two biases [4 H]), each a dict
      that is indexed by layer and direction. The inputs of a later layer are the outputs of the
      previous layer; the size of these outputs takes the place of I.
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    bias = (_GATES * hidden_size,)
    parts: tuple[Weights, Weights, Weights, Weights] = ({}, {}, {}, {})
    start = 0
    for first, of_layers in ((0, shapes), (2, [(bias, bias)] * len(shapes))):
        for index, pair in enumerate(of_layers):
            for k, shape in enumerate(pair):
                stop = start + math.prod(shape)
                parts[first + k][index] = weights[start:stop].reshape(shape)
                start = stop
    return parts


def swap_lstm_gates(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Returns the weight vector with the cell and output gates, the last two of four, exchanged.

    Args:
      weights: weight vector [get_num_params_in_lstm(...)].
      input_size, hidden_size, num_layers, bidirectional: as in `lstm`.
    """
    parts = unpack_lstm_weights(
        jnp.asarray(weights), input_size, hidden_size, num_layers, bidirectional
    )

    def swapped(x: Array) -> Array:
        gates = x.reshape(_GATES, -1)
        return gates[np.array([0, 1, 3, 2])].ravel()

    layers = range(len(parts[0]))
    pairs = [parts[first + k][index] for first in (0, 2) for index in layers for k in (0, 1)]
    return jnp.concatenate([swapped(x) for x in pairs])


# --- evaluation -----------------------------------------------------------------------------------


def _check_lengths(seq_lengths: Array, dropout: float) -> None:
    if seq_lengths.dtype != np.int32:
        raise NotImplementedError(f"lstm: seq_lengths must be int32, but got {seq_lengths.dtype}")
    if dropout != 0:
        raise NotImplementedError(
            f"lstm: dropout must be 0, but got {dropout}; the units that cuDNN drops cannot be "
            "reproduced"
        )


def _direction(
    x: Array, h: Array, c: Array, weights: tuple[Array, Array, Array, Array], lengths: Array,
    precision: PrecisionLike,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Computes one direction of a layer.

    Args:
      x: inputs [T, B, I].
      h, c: initial hidden and cell states [B, H].
      weights: (input weights, hidden weights, two biases).
      lengths: lengths [B] of the sequences.
      precision: precision of the matrix products.

    Returns: (outputs [T, B, H], final h, final c).
    """
    of_inputs, of_states, bias, other_bias = weights
    # One matrix product computes the terms that do not depend on the state, for all positions.
    input_gates = (
        jnp.matmul(x, of_inputs.T, precision=precision) + bias[None, None] + other_bias[None, None]
    )

    def step(state: _State, input_gates: Array) -> tuple[_State, _State]:
        h, c = state
        gates = input_gates + jnp.matmul(h, of_states.T, precision=precision)
        i, f, g, o = jnp.split(gates, _GATES, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return (h, c), (h, c)

    _, (states, cells) = lax.scan(step, (h, c), input_gates)
    # The state after the last position of each sequence; the outputs of padding are zero.
    last = lengths - 1, np.arange(x.shape[1])
    inside = jnp.arange(x.shape[0], dtype=np.int32)[:, None] < lengths[None, :]
    return jnp.where(inside[:, :, None], states, 0), states[last], cells[last]


def _reversed(x: Array, lengths: Array) -> Array:
    """Returns x [T, B, ...] with each sequence reversed; padding at the end stays in place."""
    count = x.shape[0]
    position = jnp.arange(count, dtype=np.int32)[:, None]
    source = jnp.where(position < lengths[None, :], lengths[None, :] - 1 - position, position)
    return x[source, np.arange(x.shape[1])[None, :]]


@partial(jit, static_argnums=(8, 9, 10, 11, 12, 13))
def _lstm(
    x: Array, h_0: Array, c_0: Array, W_ih: Weights, W_hh: Weights, b_ih: Weights, b_hh: Weights,
    seq_lengths: Array, input_size: int, hidden_size: int, num_layers: int, dropout: float,
    bidirectional: bool, precision: PrecisionLike = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    _check_lengths(seq_lengths, dropout)
    y = jnp.swapaxes(x, 0, 1)
    last_h: list[Array] = []
    last_c: list[Array] = []
    for _ in range(num_layers):
        outputs: list[Array] = []
        for backward in (False, True) if bidirectional else (False,):
            k = len(last_h)
            weights = W_ih[k], W_hh[k], b_ih[k], b_hh[k]
            inputs = _reversed(y, seq_lengths) if backward else y
            out, h, c = _direction(inputs, h_0[k], c_0[k], weights, seq_lengths, precision)
            outputs.append(_reversed(out, seq_lengths) if backward else out)
            last_h.append(h)
            last_c.append(c)
        y = jnp.concatenate(outputs, axis=-1)
    return jnp.swapaxes(y, 0, 1), jnp.stack(last_h), jnp.stack(last_c)


def lstm_ref(
    x: Array, h_0: Array, c_0: Array, W_ih: Weights, W_hh: Weights, b_ih: Weights, b_hh: Weights,
    seq_lengths: Array, input_size: int, hidden_size: int, num_layers: int, dropout: float,
    bidirectional: bool,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Computes `lstm` from the weights that `unpack_lstm_weights` returns."""
    return _lstm(
        x, h_0, c_0, W_ih, W_hh, b_ih, b_hh, seq_lengths, input_size, hidden_size, num_layers, dropout,
        bidirectional,
    )  # fmt: skip


def lstm(
    x: Array, h_0: Array, c_0: Array, weights: Array, seq_lengths: Array, input_size: int,
    hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
    precision: PrecisionLike = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Computes a stack of LSTM layers over sequences.

    Args:
      x: inputs [B, T, I].
      h_0, c_0: initial hidden and cell states [L, B, H].
      weights: weight vector [get_num_params_in_lstm(...)]; `jax.experimental.rnn` describes its
        layout.
      seq_lengths: lengths of the sequences, int32 [B], from 1 to T; later positions are padding.
      input_size: I.
      hidden_size: H.
      num_layers: number of layers; L is twice this number if `bidirectional`, else this number.
      dropout: must be 0.
      bidirectional: whether each layer also processes the sequence backwards, from its last
        position; the outputs of both directions are concatenated.
      precision: precision of the matrix products, as in `dot_general`.

    Returns: (y, h, c): outputs [B, T, H], or [B, T, 2 H] if `bidirectional`, which are zero in the
      padding; final hidden states [L, B, H]; final cell states [L, B, H].

    Raises:
      NotImplementedError: if `seq_lengths` are not int32, or `dropout` is not 0.

    Example:
      >>> from jax.experimental import rnn
      >>> weights = rnn.init_lstm_weight(jax.random.key(0), 3, 2, 1, False)
      >>> x, state = jnp.ones((1, 4, 3)), jnp.zeros((1, 1, 2))
      >>> y, h, c = rnn.lstm(x, state, state, weights, jnp.array([4]), 3, 2, 1, 0.0, False)
      >>> y.shape, h.shape
      ((1, 4, 2), (1, 1, 2))
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    return _lstm(
        x, h_0, c_0, *parts, seq_lengths, input_size, hidden_size, num_layers, dropout,
        bidirectional, precision,
    )  # fmt: skip
