"""`jax.experimental.rnn`: long short-term memory (LSTM), with weights packed as in cuDNN.

All weights are in one vector. It contains the input weights and the hidden weights of each layer
and direction in turn, followed by the two biases of each layer and direction. All of these consist
of four parts, for the input, forget, cell and output gates. If layers are bidirectional, layer i
has the indices 2 i (forward) and 2 i + 1 (backward).

JAX's `lstm` requires a GPU. In jitney, `lstm` is implemented by `scan`, and is differentiated like
any other function. `lstm_fwd` and `lstm_bwd` are its forward and backward pass; `rnn_fwd_p` and
`rnn_bwd_p` are the corresponding primitives.

Source: Hochreiter and Schmidhuber, Long short-term memory, 1997, with forget gates (Gers et al.,
2000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.util.lazy import listing, refusing
from jitney.experimental.lstm_layers import (
    Shape as Shape,
    get_num_params_in_lstm as get_num_params_in_lstm,
    init_lstm_weight as init_lstm_weight,
    lstm as lstm,
    lstm_ref as lstm_ref,
    sigmoid as sigmoid,
    swap_lstm_gates as swap_lstm_gates,
    tanh as tanh,
    unpack_lstm_weights as unpack_lstm_weights,
)
from jitney.experimental.lstm_passes import (
    lstm_bwd as lstm_bwd,
    lstm_fwd as lstm_fwd,
    rnn_abstract_eval as rnn_abstract_eval,
    rnn_bwd_abstract_eval as rnn_bwd_abstract_eval,
    rnn_bwd_p as rnn_bwd_p,
    rnn_fwd_p as rnn_fwd_p,
)

__all__ = [
    "Shape", "get_num_params_in_lstm", "init_lstm_weight", "lstm", "lstm_bwd", "lstm_fwd", "lstm_ref",
    "rnn_abstract_eval", "rnn_bwd_abstract_eval", "rnn_bwd_p", "rnn_fwd_p", "sigmoid",
    "swap_lstm_gates", "tanh", "unpack_lstm_weights",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
