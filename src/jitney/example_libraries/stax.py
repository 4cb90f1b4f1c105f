"""`jax.example_libraries.stax`: neural networks composed of layers, which are pairs of functions.

    init_fun(rng, input_shape) -> (output_shape, params)
    apply_fun(params, inputs, **kwargs) -> outputs

`serial` and `parallel` combine several layers into one. A size of -1 in a shape, for example the
batch size, stands for any size. Keyword arguments, such as the key `rng` that `Dropout` needs, are
passed to all layers.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax, numpy as jnp, random
from jitney.core.typing import Array, PyTree
from jitney.core.util.lazy import listing
from jitney.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from jitney.nn.initializers import Initializer, glorot_normal, normal, ones, zeros

__all__ = [
    "AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu",
    "Exp", "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv",
    "GeneralConvTranspose", "Identity", "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu",
    "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh", "elementwise", "glorot", "logsoftmax",
    "parallel", "randn", "serial", "shape_dependent",
]  # fmt: skip

__dir__ = listing(__name__)

Shape = tuple[int, ...]
InitFun = Callable[[Array, PyTree], tuple[PyTree, PyTree]]
ApplyFun = Callable[..., PyTree]
Layer = tuple[InitFun, ApplyFun]

# Names that user programs import from this module.
logsoftmax = log_softmax
glorot = glorot_normal
randn = normal

_WEIGHTS, _BIAS, _CHANNEL_BIAS = glorot_normal(), normal(), normal(1e-6)


def Dense(out_dim: int, W_init: Initializer = _WEIGHTS, b_init: Initializer = _BIAS) -> Layer:
    """Returns a fully connected layer: the inputs times weights, plus a bias, along the last axis.

    Example:
      >>> init, apply = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(1))
      >>> shape, params = init(jax.random.key(0), (-1, 3))
      >>> shape, apply(params, jnp.ones((5, 3))).shape
      ((-1, 1), (5, 1))
    """

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[Array, Array]]:
        k1, k2 = random.split(rng)
        params = W_init(k1, (input_shape[-1], out_dim)), b_init(k2, (out_dim,))
        return (*input_shape[:-1], out_dim), params

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init_fun, apply_fun


# --- convolutions ---------------------------------------------------------------------------------

_Convolve = Callable[..., Any]
_OutputShape = Callable[..., Shape]


def _convolution(
    dimension_numbers: Sequence[str], out_chan: int, filter_shape: Sequence[int],
    strides: Sequence[int] | None, padding: str | Sequence[tuple[int, int]], W_init: Initializer | None,
    b_init: Initializer, convolve: _Convolve, output_shape: _OutputShape,
) -> Layer:  # fmt: skip
    """Returns a layer that applies `convolve`; `output_shape` computes the shape of its result."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    steps = tuple(strides or (1,) * len(filter_shape))
    w_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[Array, Array]]:
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [channels[c] if c in channels else next(sizes) for c in rhs_spec]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        k1, k2 = random.split(rng)
        params = w_init(k1, tuple(kernel_shape)), b_init(k2, tuple(bias_shape))
        out = output_shape(
            tuple(input_shape), tuple(kernel_shape), steps, padding, dimension_numbers
        )
        return tuple(map(int, out)), params

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        weights, bias = params
        return convolve(inputs, weights, steps, padding, dimension_numbers=dimension_numbers) + bias

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _CHANNEL_BIAS,
) -> Layer:
    """Returns a layer that applies `lax.conv_general_dilated` and adds a bias for each channel.

    Args:
      dimension_numbers: axes of inputs, kernels and outputs, such as ("NHWC", "HWIO", "NHWC").
      out_chan: number of output channels.
      filter_shape: sizes of the window.
      strides: strides of the window, 1 by default.
      padding: "VALID", "SAME", or a pair of integers for each spatial axis.
      W_init, b_init: initializers; `glorot_normal` and `normal(1e-6)` by default.
    """
    return _convolution(
        dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
        lax.conv_general_dilated, lax.conv_general_shape_tuple,
    )  # fmt: skip


def GeneralConvTranspose(
    dimension_numbers: Sequence[str],
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer = _CHANNEL_BIAS,
) -> Layer:
    """Returns a layer that applies `lax.conv_transpose` and adds a bias for each channel.

    See `GeneralConv` for the arguments.
    """
    return _convolution(
        dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
        lax.conv_transpose, lax.conv_transpose_shape_tuple,
    )  # fmt: skip


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


# --- normalization and dropout ----------------------------------------------------------------------


def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Returns a batch normalization layer.

    The layer standardizes its inputs to mean 0 and variance 1 along `axis`. Then it multiplies them
    by gamma if `scale` is True, and adds beta if `center` is True.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[object, object]]:
        shape = tuple([n for k, n in enumerate(input_shape) if k not in axes])
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: PyTree, x: Array, **kwargs: PyTree) -> Array:
        beta, gamma = params
        out = standardize(x, axes, epsilon=epsilon)
        along = tuple([None if k in axes else slice(None) for k in range(jnp.ndim(x))])
        out = gamma[along] * out if scale else out
        return out + beta[along] if center else out

    return init_fun, apply_fun


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Returns a dropout layer.

    In mode "train", each input is kept with probability `rate` and divided by `rate`; other inputs
    are set to 0. In other modes the inputs are returned unchanged. The layer requires a key, `rng`,
    in all modes.
    """

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        return input_shape, ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "stax.Dropout: the layer requires a key, which is passed as the keyword argument "
                "`rng`, for example apply_fun(params, inputs, rng=jax.random.key(0))"
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return init_fun, apply_fun


# --- one function for each element, row or image ------------------------------------------------------


def elementwise(fun: Callable[..., Any], **fun_kwargs: object) -> Layer:
    """Returns a layer without parameters that applies `fun` to its inputs."""

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        return input_shape, ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)


def _flatten() -> Layer:
    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        size = functools.reduce(operator.mul, input_shape[1:], 1)
        return (input_shape[0], size), ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


Flatten = _flatten()


# --- pooling --------------------------------------------------------------------------------------


def _pooling(
    reducer: Callable[..., Any], init_val: float, window_shape: Sequence[int],
    strides: Sequence[int] | None, padding: str, spec: str | None,
    rescale: Callable[..., Any] | None = None,
) -> Layer:  # fmt: skip
    """Returns a layer that reduces windows with `reducer`.

    If `rescale` is given, the result is `rescale(reduced windows, numbers of their elements)`.
    """
    steps = tuple(strides or (1,) * len(window_shape))
    batch, channel = (
        (0, len(window_shape) + 1) if spec is None else (spec.index("N"), spec.index("C"))
    )

    def with_others(sizes: Sequence[int]) -> Shape:
        """Inserts sizes of 1 for the batch and channel axes."""
        remaining = iter(sizes)
        return tuple(
            [1 if k in (batch, channel) else next(remaining) for k in range(len(window_shape) + 2)]
        )

    window, step = with_others(window_shape), with_others(steps)

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        # A size of -1 is kept along axes that the window does not cover.
        pads = lax.padtype_to_pads(input_shape, window, step, padding)
        out = [
            n if w == s == 1 else (n + low + high - w) // s + 1
            for n, w, s, (low, high) in zip(input_shape, window, step, pads, strict=True)
        ]
        return tuple(map(int, out)), ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        out = lax.reduce_window(inputs, init_val, reducer, window, step, padding)
        if rescale is None:
            return out
        image = tuple([1 if k in (batch, channel) else n for k, n in enumerate(inputs.shape)])
        elements = jnp.ones(image, inputs.dtype)
        return rescale(out, lax.reduce_window(elements, 0.0, lax.add, window, step, padding))

    return init_fun, apply_fun


def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """Returns a layer that computes the maximum over each window.

    Args:
      window_shape: sizes of the window along the spatial axes.
      strides: strides of the window, 1 by default.
      padding: "VALID" or "SAME"; padding does not affect the results.
      spec: names of the axes, such as "NCHW"; by default the batch axis is first and the channel
        axis last.
    """
    return _pooling(lax.max, -np.inf, window_shape, strides, padding, spec)


def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """Returns a layer that computes the sum over each window. See `MaxPool` for the arguments."""
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec)


def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """Returns a layer that computes the mean over each window. See `MaxPool` for the arguments."""
    return _pooling(lax.add, 0.0, window_shape, strides, padding, spec, operator.truediv)


# --- several inputs, several layers -------------------------------------------------------------------


def FanOut(num: int) -> Layer:
    """Returns a layer whose output is a list that contains the input `num` times."""

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[list[Shape], tuple[()]]:
        return [input_shape] * num, ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> list[Array]:
        return [inputs] * num

    return init_fun, apply_fun


def _fan_in_sum() -> Layer:
    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        return input_shape[0], ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> object:
        return sum(inputs)

    return init_fun, apply_fun


FanInSum = _fan_in_sum()


def FanInConcat(axis: int = -1) -> Layer:
    """Returns a layer that concatenates its inputs along `axis`."""

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[Shape, tuple[()]]:
        first = list(input_shape[0])
        first[axis] = sum(shape[axis] for shape in input_shape)
        return tuple(first), ()

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> Array:
        return jnp.concatenate(inputs, axis)

    return init_fun, apply_fun


def serial(*layers: Layer) -> Layer:
    """Returns a layer that applies `layers` one after the other.

    Its parameters are a list of the parameters of the layers. A key `rng` is split into one key for
    each layer.
    """
    inits, applies = [init for init, _ in layers], [apply for _, apply in layers]

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[object, list[object]]:
        params = []
        for init in inits:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> object:
        rng = kwargs.pop("rng", None)
        rngs = [None] * len(layers) if rng is None else random.split(rng, len(layers))
        for apply, param, layer_rng in zip(applies, params, rngs, strict=True):
            inputs = apply(param, inputs, rng=layer_rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Returns a layer that applies each of `layers` to its own input.

    Inputs, outputs and parameters are sequences with one entry for each layer. A key `rng` is split
    into one key for each layer.
    """
    inits, applies = [init for init, _ in layers], [apply for _, apply in layers]

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[tuple[object, ...], tuple[object, ...]]:
        rngs = random.split(rng, len(layers))
        initialized = [
            init(key, shape) for init, key, shape in zip(inits, rngs, input_shape, strict=True)
        ]
        return tuple([shape for shape, _ in initialized]), tuple(
            [params for _, params in initialized]
        )

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> list[object]:
        rng = kwargs.pop("rng", None)
        rngs = [None] * len(layers) if rng is None else random.split(rng, len(layers))
        return [
            apply(param, x, rng=key, **kwargs)
            for apply, param, x, key in zip(applies, params, inputs, rngs, strict=True)
        ]

    return init_fun, apply_fun


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Returns a layer that applies `make_layer(input_shape)`, a layer that depends on the shape."""

    def init_fun(rng: Array, input_shape: PyTree) -> tuple[object, object]:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params: PyTree, inputs: PyTree, **kwargs: PyTree) -> object:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun
