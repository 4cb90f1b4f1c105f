"""The forward and the backward pass of `lstm`, as functions and as primitives.

cuDNN passes residuals to the backward pass in a "reserve space". Here the backward pass recomputes
the layers, and the reserve space is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney import numpy as jnp
from jitney.api.autodiff.autodiff import vjp
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import ShapedArray
from jitney.experimental.lstm_layers import lstm
from jitney.interpreters.mlir import lower_fun, register_lowering
from jitney.interpreters.xla import apply_primitive

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.linalg.precision import PrecisionLike

rnn_fwd_p = Primitive("rnn_fwd")
rnn_bwd_p = Primitive("rnn_bwd")
Gradients = tuple["Array", "Array", "Array", "Array", None]


def rnn_abstract_eval(
    x_aval: ShapedArray, h_0_aval: ShapedArray, c_0_aval: ShapedArray, w_aval: ShapedArray,
    seq_lengths_aval: ShapedArray, input_size: int, hidden_size: int, num_layers: int,
    dropout: float, bidirectional: bool, cudnn_allow_tf32: bool,
) -> tuple[ShapedArray, ...]:  # fmt: skip
    """Returns the types of the results of `rnn_fwd_p`.

    Args:
      x_aval, h_0_aval, c_0_aval, w_aval, seq_lengths_aval: types of the operands, as in `lstm`.
      input_size, hidden_size, num_layers, dropout, bidirectional: as in `lstm`.
      cudnn_allow_tf32: whether the default precision is allowed for matrix products.

    Returns: the types of (outputs, final hidden states, final cell states, reserve space).
    """
    batch, length, _ = x_aval.shape
    width = hidden_size * (2 if bidirectional else 1)
    y = ShapedArray((batch, length, width), x_aval.dtype)
    space = ShapedArray((0,), jnp.float32)
    return y, _plain(h_0_aval), _plain(c_0_aval), space


def rnn_bwd_abstract_eval(
    dy_aval: ShapedArray, dhn_aval: ShapedArray, dcn_aval: ShapedArray, x_aval: ShapedArray,
    h0_aval: ShapedArray, c0_aval: ShapedArray, w_aval: ShapedArray, y_aval: ShapedArray,
    reserve_space_aval: ShapedArray, seq_lengths_aval: ShapedArray, input_size: int,
    hidden_size: int, num_layers: int, dropout: float, bidirectional: bool, cudnn_allow_tf32: bool,
) -> tuple[ShapedArray, ...]:  # fmt: skip
    """Returns the types of the results of `rnn_bwd_p`.

    Args:
      dy_aval, dhn_aval, dcn_aval: types of the cotangents of the results of `lstm`.
      x_aval, h0_aval, c0_aval, w_aval: types of the operands of `lstm`.
      y_aval, reserve_space_aval: types of results of `rnn_fwd_p`.
      seq_lengths_aval: type of the lengths of the sequences.
      input_size, hidden_size, num_layers, dropout, bidirectional: as in `lstm`.
      cudnn_allow_tf32: whether the default precision is allowed for matrix products.

    Returns: the types of the cotangents of x, of the initial hidden and cell states, and of the
      weights.
    """
    return _plain(x_aval), _plain(h0_aval), _plain(c0_aval), _plain(w_aval)


def _plain(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape, aval.dtype)


def _precision(cudnn_allow_tf32: bool) -> PrecisionLike:
    return None if cudnn_allow_tf32 else "highest"


def _forward(
    x: Array, h_0: Array, c_0: Array, w: Array, seq_lengths: Array, *, cudnn_allow_tf32: bool,
    **sizes: Any,
) -> tuple[Array, ...]:  # fmt: skip
    precision = _precision(cudnn_allow_tf32)
    y, h, c = lstm(x, h_0, c_0, w, seq_lengths, **sizes, precision=precision)
    return y, h, c, jnp.zeros((0,), jnp.float32)


def _backward(
    dy: Array, dhn: Array, dcn: Array, x: Array, h0: Array, c0: Array, w: Array, y: Array,
    reserve_space: Array, seq_lengths: Array, *, cudnn_allow_tf32: bool, **sizes: Any,
) -> Sequence[Array]:  # fmt: skip
    precision = _precision(cudnn_allow_tf32)

    def layers(x: Array, h: Array, c: Array, w: Array) -> tuple[Array, Array, Array]:
        return lstm(x, h, c, w, seq_lengths, **sizes, precision=precision)

    return vjp(layers, x, h0, c0, w)[1]((dy, dhn, dcn))


def _define(
    prim: Primitive, types: Callable[..., tuple[ShapedArray, ...]], meaning: Callable[..., Any]
) -> None:
    prim.multiple_results = True
    prim.def_abstract_eval(types)
    prim.def_impl(lambda *args, **params: apply_primitive(prim, *args, **params))
    register_lowering(prim, lower_fun(meaning))


_define(rnn_fwd_p, rnn_abstract_eval, _forward)
_define(rnn_bwd_p, rnn_bwd_abstract_eval, _backward)


def lstm_fwd(
    x: Array, h_0: Array, c_0: Array, w: Array, seq_lengths: Array, input_size: int,
    hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
    precision: PrecisionLike,
) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:  # fmt: skip
    """Computes `lstm` and the residuals for `lstm_bwd`.

    Args:
      x, h_0, c_0, seq_lengths: as in `lstm`.
      w: weight vector, `weights` of `lstm`.
      input_size, hidden_size, num_layers, dropout, bidirectional, precision: as in `lstm`.

    Returns: (results of `lstm`, residuals).

    Raises:
      NotImplementedError: if `seq_lengths` are not int32, or `dropout` is not 0.

    Example:
      >>> from jax.experimental import rnn
      >>> sizes = 3, 2, 1, 0.0, False, None
      >>> weights = rnn.init_lstm_weight(jax.random.key(0), 3, 2, 1, False)
      >>> x, state = jnp.ones((1, 4, 3)), jnp.zeros((1, 1, 2))
      >>> outs, residuals = rnn.lstm_fwd(x, state, state, weights, jnp.array([4]), *sizes)
      >>> [ct.shape for ct in rnn.lstm_bwd(*sizes, residuals, outs)[:4]]
      [(1, 4, 3), (1, 1, 2), (1, 1, 2), (56,)]
    """
    y, h, c, space = rnn_fwd_p.bind(
        x, h_0, c_0, w, seq_lengths, input_size=input_size, hidden_size=hidden_size,
        num_layers=num_layers, dropout=dropout, bidirectional=bidirectional,
        cudnn_allow_tf32=_allows_tf32(precision),
    )  # fmt: skip
    return (y, h, c), (x, h_0, c_0, w, seq_lengths, y, space)


def lstm_bwd(
    input_size: int, hidden_size: int, num_layers: int, dropout: float, bidirectional: bool,
    precision: PrecisionLike, residuals: Sequence[Array], gradients: Sequence[Array],
) -> Gradients:  # fmt: skip
    """Computes the cotangents of the operands of `lstm`.

    Args:
      input_size, hidden_size, num_layers, dropout, bidirectional, precision: as in `lstm`.
      residuals: residuals that `lstm_fwd` returned.
      gradients: cotangents of the results of `lstm`.

    Returns: cotangents of x, of the initial hidden and cell states, and of the weights; and None
      for the lengths of the sequences.
    """
    x, h_0, c_0, w, seq_lengths, y, space = residuals
    dy, dh, dc = gradients
    dx, dh_0, dc_0, dw = rnn_bwd_p.bind(
        dy, dh, dc, x, h_0, c_0, w, y, space, seq_lengths, input_size=input_size,
        hidden_size=hidden_size, num_layers=num_layers, dropout=dropout,
        bidirectional=bidirectional, cudnn_allow_tf32=_allows_tf32(precision),
    )  # fmt: skip
    return dx, dh_0, dc_0, dw, None


def _allows_tf32(precision: PrecisionLike) -> bool:
    """Returns whether a precision is the default one."""
    names = precision if isinstance(precision, tuple | list) else (precision,)
    return all(p is None or str(getattr(p, "name", p)).lower() == "default" for p in names)
