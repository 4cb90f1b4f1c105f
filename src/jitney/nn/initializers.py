"""Initializers of weights: functions of a key, a shape and a dtype.

    init = jax.nn.initializers.he_normal()
    weights = init(key, (inputs, outputs))

Initializers that scale the variance compute fan-in and fan-out, the numbers of inputs and outputs
of a unit, from the shape. They are the sizes of the input and output axes, each multiplied by the
sizes of all other axes except batch axes (the window of a convolution).

Sources: LeCun et al., Efficient BackProp, 1998 (lecun); Glorot and Bengio, Understanding the
difficulty of training deep feedforward neural networks, 2010 (glorot, xavier); He et al., Delving
deep into rectifiers, 2015 (he, kaiming); Saxe et al., Exact solutions to the nonlinear dynamics of
learning, 2013 (orthogonal); Xiao et al., Dynamical isometry and a mean field theory of CNNs, 2018
(delta_orthogonal).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np

from jitney import lax, numpy as jnp, random
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing
from jitney.primitives.array.placement import placed

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike

__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal",
    "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling", "xavier_normal",
    "xavier_uniform", "zeros",
]  # fmt: skip

__dir__ = listing(__name__)

Axes = int | Sequence[int]
# The standard deviation of a standard normal variable truncated to [-2, 2].
_TRUNCATED_STDDEV = 0.87962566103423978


@runtime_checkable
class Initializer(Protocol):
    """The protocol of initializers: functions of a key, a shape and a dtype."""

    def __call__(
        self,
        key: Array,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        """Returns initial values of the given shape, dtype and sharding."""
        raise NotImplementedError


def _dtype(dtype: DTypeLike | None, default: DTypeLike | None) -> np.dtype:
    return dtypes.canonicalize_dtype(dtype or default or np.float64)


def zeros(
    key: Array,
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Returns an array of zeros; ignores the key.

    Example:
      >>> nn.initializers.zeros(jax.random.key(42), (2, 3))
      Array([[0., 0., 0.],
             [0., 0., 0.]], dtype=float32)
    """
    return jnp.zeros(shape, _dtype(dtype, None), out_sharding=out_sharding)


def ones(
    key: Array,
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Returns an array of ones; ignores the key.

    Example:
      >>> nn.initializers.ones(jax.random.key(42), (3,))
      Array([1., 1., 1.], dtype=float32)
    """
    return jnp.ones(shape, _dtype(dtype, None), out_sharding=out_sharding)


def _initializer(
    make: Callable[[Array, Sequence[int], np.dtype], Array], default: DTypeLike | None
) -> Initializer:
    def init(
        key: Array,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        return placed(make(key, tuple(shape), _dtype(dtype, default)), None, out_sharding)

    return init


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """Returns an initializer that fills arrays with `value`.

    Args:
      value: scalar, or array that broadcasts to the shape.
      dtype: default dtype of the results.

    Example:
      >>> nn.initializers.constant(-7)(jax.random.key(42), (3,))
      Array([-7., -7., -7.], dtype=float32)
    """
    return _initializer(lambda key, shape, dtype: jnp.full(shape, value, dtype=dtype), dtype)


def uniform(scale: float = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Returns an initializer that draws from the uniform distribution on [0, `scale`).

    Example:
      >>> nn.initializers.uniform(10.0)(jax.random.key(42), (2, 3)).shape
      (2, 3)
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return _initializer(make, dtype)


def normal(stddev: float = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Returns an initializer that draws normal values of mean 0 and standard deviation `stddev`.

    Example:
      >>> nn.initializers.normal(5.0)(jax.random.key(42), (2, 3)).shape
      (2, 3)
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return _initializer(make, dtype)


def truncated_normal(
    stddev: float = 1e-2, dtype: DTypeLike | None = None, lower: float = -2.0, upper: float = 2.0
) -> Initializer:
    """Returns an initializer that draws truncated standard normal values, multiplied by `stddev`.

    The standard normal distribution is truncated to [`lower`, `upper`], so that the standard
    deviation of the results is less than `stddev`.

    Example:
      >>> bool(abs(nn.initializers.truncated_normal(5.0)(jax.random.key(42), (9,))).max() <= 10)
      True
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        drawn = random.truncated_normal(key, lower, upper, shape, dtype)
        return drawn * jnp.array(stddev, dtype)

    return _initializer(make, dtype)


# --- by variance ----------------------------------------------------------------------------------


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Returns the fan-in and fan-out of weights of `shape`."""
    if len(shape) < 2 and in_axis == -2:
        raise ValueError(
            "variance_scaling: weights must have at least two axes unless in_axis is given, but the "
            f"shape is {tuple(shape)}"
        )

    def extent(axes: Axes) -> int:
        several = (axes,) if isinstance(axes, int) else axes
        return math.prod(shape[k] for k in several)

    inputs, outputs = extent(in_axis), extent(out_axis)
    window = math.prod(shape) / inputs / outputs / extent(batch_axis)
    return inputs * window, outputs * window


def variance_scaling(
    scale: float,
    mode: Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"],
    distribution: Literal["truncated_normal", "normal", "uniform"],
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Returns an initializer of mean 0 whose variance is `scale` divided by the fan of the weights.

    Args:
      scale: factor of the variance.
      mode: divisor of the variance: "fan_in", "fan_out", "fan_avg" (the mean of fan-in and fan-out)
        or "fan_geo_avg" (their geometric mean).
      distribution: "normal", "uniform", or "truncated_normal", which is truncated to two standard
        deviations and rescaled to the full variance.
      in_axis, out_axis: axes of inputs and of outputs.
      batch_axis: axes that count neither towards fan-in nor towards fan-out.
      dtype: default dtype of the results, real or complex.

    Raises:
      ValueError: if `mode` or `distribution` is unknown, or a shape has fewer than two axes and
        `in_axis` is not given.

    Example:
      >>> init = nn.initializers.variance_scaling(2.0, "fan_in", "uniform")
      >>> bool(abs(init(jax.random.key(0), (6, 4))).max() <= 1)  # sqrt(3 * 2 / 6)
      True
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        fans = {
            "fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }  # fmt: skip
        if mode not in fans:
            raise ValueError(
                f"variance_scaling: mode must be one of {list(fans)}, but got {mode!r}"
            )
        variance = jnp.array(scale / fans[mode], dtype=dtype)
        is_real = not dtypes.issubdtype(dtype, np.complexfloating)
        if distribution == "normal":
            return random.normal(key, shape, dtype) * jnp.sqrt(variance)
        if distribution == "uniform":
            if is_real:
                return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
            return _in_disk(key, shape, dtype) * jnp.sqrt(variance)
        if distribution != "truncated_normal":
            raise ValueError(
                "variance_scaling: distribution must be 'truncated_normal', 'normal' or 'uniform', "
                f"but got {distribution!r}"
            )
        if is_real:
            stddev = jnp.sqrt(variance) / jnp.array(_TRUNCATED_STDDEV, dtype)
            return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
        # The standard deviation after truncation to two standard deviations in the complex plane.
        stddev = jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype)
        return _truncated_in_plane(key, 2, shape, dtype) * stddev

    return _initializer(make, dtype)


def _real_of(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of the real and imaginary parts of a complex dtype."""
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _in_disk(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
    """Draws complex variables from the uniform distribution of variance 1 on a disk."""
    key_r, key_theta = random.split(key)
    real = _real_of(dtype)
    r = jnp.sqrt(2 * random.uniform(key_r, shape, real)).astype(dtype)
    theta = (2 * jnp.pi * random.uniform(key_theta, shape, real)).astype(dtype)
    return r * jnp.exp(1j * theta)


def _truncated_in_plane(key: Array, upper: float, shape: Sequence[int], dtype: np.dtype) -> Array:
    """Draws complex normal variables truncated to a modulus of at most `upper`."""
    key_r, key_theta = random.split(key)
    real = _real_of(dtype)
    t = (1 - jnp.exp(jnp.array(-(upper**2), dtype))) * random.uniform(key_r, shape, real).astype(
        dtype
    )
    r = jnp.sqrt(-jnp.log(1 - t))
    theta = (2 * jnp.pi * random.uniform(key_theta, shape, real)).astype(dtype)
    return r * jnp.exp(1j * theta)


def _named(
    name: str, scale: float, mode: Literal["fan_in", "fan_avg"],
    distribution: Literal["truncated_normal", "uniform"], what: str,
) -> Callable[..., Initializer]:  # fmt: skip
    def make(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{what}

    Args:
      in_axis, out_axis: axes of inputs and of outputs.
      batch_axis: axes that count neither towards fan-in nor towards fan-out.
      dtype: default dtype of the results.

    Example:
      >>> nn.initializers.{name}()(jax.random.key(42), (2, 3)).shape
      (2, 3)
    """
    return make


_WITHIN = "Returns an initializer that draws"
glorot_uniform = _named(
    "glorot_uniform",
    1.0,
    "fan_avg",
    "uniform",
    f"{_WITHIN} uniform values of variance 2 / (fan-in + fan-out).",
)
glorot_normal = _named(
    "glorot_normal", 1.0, "fan_avg", "truncated_normal",
    f"{_WITHIN} truncated normal values of variance 2 / (fan-in + fan-out).",
)  # fmt: skip
lecun_uniform = _named(
    "lecun_uniform", 1.0, "fan_in", "uniform", f"{_WITHIN} uniform values of variance 1 / fan-in."
)
lecun_normal = _named(
    "lecun_normal", 1.0, "fan_in", "truncated_normal",
    f"{_WITHIN} truncated normal values of variance 1 / fan-in.",
)  # fmt: skip
he_uniform = _named(
    "he_uniform", 2.0, "fan_in", "uniform",
    f"{_WITHIN} uniform values of variance 2 / fan-in, for relu.",
)  # fmt: skip
he_normal = _named(
    "he_normal", 2.0, "fan_in", "truncated_normal",
    f"{_WITHIN} truncated normal values of variance 2 / fan-in, for relu.",
)  # fmt: skip
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


# --- orthogonal -----------------------------------------------------------------------------------


def orthogonal(
    scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Returns an initializer that draws uniformly distributed orthogonal matrices, times `scale`.

    Args:
      scale: factor of the matrices.
      column_axis: axis of the columns; all other axes are flattened into rows. Rows or columns,
        whichever are fewer, are orthonormal (up to `scale`).
      dtype: default dtype of the results.

    Raises:
      ValueError: if a shape has fewer than two axes.

    Example:
      >>> q = nn.initializers.orthogonal()(jax.random.key(0), (4, 4))
      >>> bool(jnp.allclose(q @ q.T, jnp.eye(4), atol=1e-5))
      True
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        if len(shape) < 2:
            raise ValueError(
                f"orthogonal: weights must have at least two axes, but the shape is {tuple(shape)}"
            )
        columns = shape[column_axis]
        rows = math.prod(shape) // columns if columns else 0
        tall = (max(rows, columns), min(rows, columns))
        q, r = jnp.linalg.qr(random.normal(key, tall, dtype))
        # The signs of the diagonal of R make the distribution uniform (Mezzadri, 2007).
        diagonal = jnp.diag(r)
        q = q * lax.expand_dims(lax.sign(diagonal), (0,))
        q = q.T if rows < columns else q
        others = [n for k, n in enumerate(shape) if k != column_axis % len(shape)]
        weights = jnp.moveaxis(jnp.reshape(q, (*others, columns)), -1, column_axis)
        return jnp.array(scale, dtype) * weights

    return _initializer(make, dtype)


def delta_orthogonal(
    scale: float = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Returns an initializer of convolution kernels with an orthogonal matrix at the center.

    All other elements are zero.

    Args:
      scale: factor of the matrix.
      column_axis: axis of the columns of the matrix, as in `orthogonal`.
      dtype: default dtype of the results.

    Raises:
      ValueError: if a shape does not consist of one, two or three spatial axes, an input axis and
        an output axis, or if there are more inputs than outputs.

    Example:
      >>> nn.initializers.delta_orthogonal()(jax.random.key(0), (3, 3, 2, 2))[0].any()
      Array(False, dtype=bool)
    """

    def make(key: Array, shape: Sequence[int], dtype: np.dtype) -> Array:
        if len(shape) not in (3, 4, 5):
            raise ValueError(
                f"delta_orthogonal: kernels must have three to five axes, but the shape is {shape}"
            )
        if shape[-1] < shape[-2]:
            raise ValueError(
                "delta_orthogonal: there must be at most as many inputs as outputs, the sizes of the "
                f"last two axes, but the shape is {tuple(shape)}"
            )
        matrix = orthogonal(scale, column_axis, dtype)(key, (shape[-1], shape[-2])[::-1])
        middle = tuple([(n - 1) // 2 for n in shape[:-2]])
        return jnp.zeros(shape, dtype).at[middle].set(matrix)

    return _initializer(make, dtype)
