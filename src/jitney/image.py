"""`jax.image`: resampling of images, and of arrays of any rank.

Each axis is resampled separately, by a product with a matrix of weights that has one column for
each sample. The weight of an element is the value of a kernel at its distance from the sample; each
column is divided by its sum. If `antialias` is True and samples are more than one element apart,
the kernel is widened to the distance between samples.

Sources: Keys, Cubic convolution interpolation for digital image processing, 1981 (cubic); Duchon,
Lanczos filtering in one and two dimensions, 1979 (lanczos3, lanczos5).
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit.jit import jit
from jitney.api.jit.repeated import publish
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import check_arraylike, is_floating, promote_dtypes_inexact
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.linalg.precision import Precision

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.linalg.precision import PrecisionLike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

__dir__ = listing(__name__)


class ResizeMethod(enum.Enum):
    """A method of interpolation. `from_string` converts the names that functions accept."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Returns the method with the given name.

        Raises:
          ValueError: if the name is unknown.
        """
        if s not in _METHODS:
            raise ValueError(
                f"jax.image: `method` must be one of {', '.join(map(repr, _METHODS))}, but got {s!r}"
            )
        return _METHODS[s]


_METHODS = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
}


# --- kernels: weights by distance >= 0, in elements -------------------------------------------------


def _triangle(x: Array) -> Array:
    return jnp.maximum(0, 1 - x)


def _lanczos(x: Array, radius: float) -> Array:
    """Computes sinc(x) sinc(x / radius), which is 0 beyond `radius`."""
    product = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
    # Near 0 the quotient would be 0 / 0; the limit 1 is accurate to 1e-6 there.
    near = x <= 1e-3
    value = jnp.where(near, 1, product / jnp.where(near, 1, np.pi**2 * x**2))
    return jnp.where(x > radius, 0.0, value)


def _keys_cubic(x: Array, a: float) -> Array:
    """Computes Keys' piecewise cubic kernel, which has slope `a` at 1, and is 0 for x >= 2."""
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return jnp.where(x >= 2, 0.0, jnp.where(x >= 1, outer, inner))


_KERNELS: dict[ResizeMethod, Callable[[Array], Array]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: partial(_lanczos, radius=3.0),
    ResizeMethod.LANCZOS5: partial(_lanczos, radius=5.0),
    ResizeMethod.CUBIC: partial(_keys_cubic, a=-0.5),
    ResizeMethod.CUBIC_PYTORCH: partial(_keys_cubic, a=-0.5),  # with antialiasing
}


def _centers(samples: int, step: ArrayLike, translation: ArrayLike, dtype: np.dtype[Any]) -> Array:
    """Returns the positions of samples, in units of elements; points are the centers of cells."""
    return (jnp.arange(samples, dtype=dtype) + 0.5) * step - translation * step - 0.5


def _normalized(weights: Array, total: Array) -> Array:
    """Divides columns by their sums; columns whose sums are nearly 0 become 0."""
    total = total[None]
    sees = jnp.abs(total) > 1000 * float(np.finfo(np.float32).eps)
    return jnp.where(sees, weights / jnp.where(total != 0, total, 1), 0)


def _weights(
    elements: int, samples: int, scale: ArrayLike, translation: ArrayLike,
    kernel: Callable[[Array], Array], antialias: bool,
) -> Array:  # fmt: skip
    """Returns the weight of each element in each sample: [elements, samples]."""
    dtype = jnp.result_type(scale, translation)
    step = 1 / scale  # between samples, in elements
    width = jnp.maximum(step, 1.0) if antialias else 1.0
    centers = _centers(samples, step, translation, dtype)
    distance = jnp.abs(centers[None] - jnp.arange(elements, dtype=dtype)[:, None]) / width
    weights = kernel(distance)
    weights = _normalized(weights, jnp.sum(weights, axis=0))
    inside = (centers >= -0.5) & (centers <= elements - 0.5)
    return jnp.where(inside[None], weights, 0).astype(dtype)


def _weights_beyond_borders(
    elements: int, samples: int, scale: ArrayLike, translation: ArrayLike
) -> Array:
    """Computes `_weights` as if the outermost elements were repeated twice beyond the borders."""
    dtype = jnp.result_type(scale, translation)
    centers = _centers(samples, 1 / scale, translation, dtype)
    first = jnp.floor(centers)
    element = jnp.arange(elements, dtype=dtype)[:, None]
    total = jnp.zeros(samples, dtype)
    weights = jnp.zeros((elements, samples), dtype)
    for offset in (-1, 0, 1, 2):
        tap = first + offset
        exists = (tap >= -2) & (tap <= elements + 1)
        weight = jnp.where(exists, _keys_cubic(jnp.abs(centers - tap), -0.75), 0)
        at = element == jnp.clip(tap, 0, elements - 1)[None]
        total = total + weight
        weights = weights + jnp.where(at, weight[None], 0)
    return _normalized(weights, total)


def _resampled(
    x: Array, shape: Sequence[int], spatial_dims: Sequence[int], scale: Sequence[float] | Array,
    translation: Sequence[float] | Array, method: ResizeMethod, antialias: bool,
    precision: PrecisionLike,
) -> Array:  # fmt: skip
    """Multiplies `x` by the weights along each axis of `spatial_dims`."""
    for k, axis in enumerate(spatial_dims):
        grids = x.shape[axis], shape[axis], scale[k], translation[k]
        if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
            weights = _weights_beyond_borders(*grids)
        else:
            weights = _weights(*grids, _KERNELS[method], antialias)
        product = jnp.tensordot(x, weights.astype(x.dtype), axes=(axis, 0), precision=precision)
        x = jnp.moveaxis(product, -1, axis)
    return x


def _nearest(x: Array, shape: Sequence[int]) -> Array:
    """Returns the element whose cell contains each sample."""
    for axis, (elements, samples) in enumerate(zip(x.shape, shape, strict=True)):
        if elements != samples:
            centers = (jnp.arange(samples, dtype=np.float32) + 0.5) * elements / samples
            x = jnp.take(x, jnp.floor(centers).astype(np.int32), axis=axis, mode="clip")
    return x


def _method(method: str | ResizeMethod) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else ResizeMethod(method)


def _same_rank(name: str, x: Array, shape: Sequence[int]) -> None:
    if len(shape) != x.ndim:
        raise ValueError(
            f"{name}: `shape` must have one size for each axis of the image, of shape {x.shape}, "
            f"but got {tuple(shape)}"
        )


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Scales and translates an image, and samples the result at the centers of pixels.

    A point x of the image is mapped to x * `scale` + `translation`, where the upper left corner of
    the image is 0. Samples outside the image are 0, except for "cubic-pytorch" without `antialias`.

    Args:
      image: array of n axes; integers are converted to floats.
      shape: n sizes of the result; the sizes of axes not in `spatial_dims` must not change.
      spatial_dims: d axes to resample.
      scale, translation: arrays of shape (d,), which can be traced and differentiated.
      method: "linear" ("bilinear", "trilinear", "triangle"), "cubic" ("bicubic", "tricubic"; Keys'
        kernel with a = -0.5), "cubic-pytorch" ("bicubic-pytorch"; without antialiasing, a = -0.75
        and border elements are repeated beyond the border), "lanczos3" or "lanczos5".
      antialias: whether to widen the kernel along axes where the image shrinks.
      precision: precision of the products; see `lax.dot_general`.

    Returns: array of shape `shape`, with the dtype of the image, or the default float dtype for
      integers.

    Raises:
      ValueError: if `shape` does not have n sizes, the method is "nearest" or unknown, or `scale`
        and `translation` are not floating arrays of shape (d,).

    Example:
      >>> row = jnp.array([0.0, 1.0, 2.0, 3.0])
      >>> jax.image.scale_and_translate(row, (4,), (0,), jnp.ones(1), jnp.ones(1), "linear")
      Array([0., 0., 1., 2.], dtype=float32)
    """
    check_arraylike("scale_and_translate", image, scale, translation)
    (x,) = promote_dtypes_inexact(image)
    x, scale, translation = jnp.asarray(x), jnp.asarray(scale), jnp.asarray(translation)
    _same_rank("scale_and_translate", x, shape)
    way = _method(method)
    if way is ResizeMethod.NEAREST:
        # The derivatives with respect to scale and translation would be 0 everywhere.
        raise ValueError(
            "scale_and_translate: `method` must have a smooth kernel, such as 'linear', but got "
            f"{method!r}; use `resize` for nearest neighbors"
        )
    axes = canonical_axes(spatial_dims, x.ndim)
    if scale.shape != (len(axes),) or translation.shape != (len(axes),):
        raise ValueError(
            f"scale_and_translate: scale and translation must have one element for each of the "
            f"{len(axes)} spatial_dims, but got shapes {scale.shape} and {translation.shape}"
        )
    for name, operand in (("scale", scale), ("translation", translation)):
        if not is_floating(operand.dtype):
            raise ValueError(
                f"scale_and_translate: {name} must be floating, but got {operand.dtype}"
            )
    return _scale_and_translate(
        x, tuple(shape), axes, scale, translation, way, antialias, precision
    )


@partial(
    jit, static_argnames=("shape", "spatial_dims", "method", "antialias", "precision"), inline=True
)
def _scale_and_translate(
    x: Array, shape: tuple[int, ...], spatial_dims: tuple[int, ...], scale: Array,
    translation: Array, method: ResizeMethod, antialias: bool, precision: PrecisionLike,
) -> Array:  # fmt: skip
    return _resampled(x, shape, spatial_dims, scale, translation, method, antialias, precision)


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: PrecisionLike = Precision.HIGHEST,
) -> Array:
    """Resizes an image.

    Args:
      image: array of n axes; integers are converted to floats, unless the method is "nearest".
      shape: n sizes of the result.
      method: "nearest", or any method of `scale_and_translate`. Samples near a border are weighted
        averages of the elements that the kernel covers.
      antialias: whether to widen the kernel along axes where the image shrinks; no effect for
        "nearest".
      precision: precision of the products; see `lax.dot_general`.

    Returns: array of shape `shape`, with the dtype of the image. For integers it is the default
      float dtype, unless the method is "nearest".

    Raises:
      ValueError: if `shape` does not have n sizes, or the method is unknown.
      ZeroDivisionError: if an axis of size 0 is resized.

    Example:
      >>> jax.image.resize(jnp.array([[0.0, 1.0]]), (1, 4), "linear")
      Array([[0.  , 0.25, 0.75, 1.  ]], dtype=float32)
    """
    check_arraylike("resize", image)
    sizes = tuple(map(operator.index, shape))
    return _resize(jnp.asarray(image), sizes, _method(method), antialias, precision)


@partial(jit, static_argnames=("shape", "method", "antialias", "precision"))
def _resize(
    x: Array, shape: tuple[int, ...], method: ResizeMethod, antialias: bool,
    precision: PrecisionLike,
) -> Array:  # fmt: skip
    _same_rank("resize", x, shape)
    if method is ResizeMethod.NEAREST:
        return _nearest(x, shape)
    (x,) = promote_dtypes_inexact(x)
    axes = [k for k, n in enumerate(shape) if n != x.shape[k]]
    scale = [1.0 if shape[k] == 0 else shape[k] / x.shape[k] for k in axes]
    return _resampled(x, shape, axes, scale, [0.0] * len(axes), method, antialias, precision)


publish(globals())
