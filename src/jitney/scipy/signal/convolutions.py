"""Convolutions and correlations of arrays of any rank, computed directly or by Fourier transforms.

A full convolution has n + m - 1 elements along an axis. Mode "same" keeps the n elements in its
middle; "valid" keeps those for which one operand lies entirely within the other.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Literal

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import check_arraylike, is_complex, promote_args_inexact
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.linalg.precision import PrecisionLike

Mode = Literal["full", "same", "valid"]
_PAD_MODES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def _operands(name: str, in1: ArrayLike, in2: ArrayLike, mode: str) -> tuple[Array, Array]:
    """Promotes operands to a common inexact dtype; checks the mode and that ranks are equal."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: `mode` must be 'full', 'same' or 'valid', but it is {mode!r}")
    check_arraylike(f"jax.scipy.signal.{name}", in1, in2)
    shapes = shape_of(in1), shape_of(in2)
    if len(shapes[0]) != len(shapes[1]):
        raise ValueError(
            f"{name}: `in1` and `in2` must have the same rank, but they have shapes {shapes[0]} "
            f"and {shapes[1]}"
        )
    x, y = map(as_value, promote_args_inexact(f"jax.scipy.signal.{name}", in1, in2))
    return x, y


def _with_elements(name: str, x: Array, y: Array) -> None:
    if 0 in (x.size, y.size):
        raise ValueError(
            f"{name}: operands must not be empty, but they have shapes {x.shape} and {y.shape}"
        )


def _contained(name: str, n: Sequence[int], m: Sequence[int]) -> bool:
    """Returns whether `m` fits into `n` along all axes; raises if neither fits into the other."""
    if all(a >= b for a, b in zip(n, m, strict=True)):
        return True
    if all(a <= b for a, b in zip(n, m, strict=True)):
        return False
    raise ValueError(
        f"{name}: one operand must be at most as large as the other along all axes, but they have "
        f"shapes {tuple(n)} and {tuple(m)}; method='fft' accepts operands of any size"
    )


def _direct(name: str, x: Array, y: Array, mode: Mode, precision: PrecisionLike) -> Array:
    """Computes a convolution directly, by sliding the smaller operand over the larger one."""
    extents = x.shape
    if not _contained(name, x.shape, y.shape):
        x, y = y, x
    if mode == "full":
        padding = [(m - 1, m - 1) for m in y.shape]
    elif mode == "same":
        # Element i of the result is element i + start of the full convolution.
        padding = []
        for extent, n, m in zip(extents, x.shape, y.shape, strict=True):
            start = (n + m - 1 - extent) // 2
            padding.append((m - 1 - start, extent + start - n))
    else:
        padding = [(0, 0)] * x.ndim
    out = lax.conv_general_dilated(
        x[None, None], jnp.flip(y)[None, None], (1,) * x.ndim, padding, precision=precision
    )
    return out[0, 0]


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Computes the convolution of arrays of equal rank: out[k] = sum over j of in1[j] * in2[k - j].

    Args:
      in1: array of rank n; integers are converted to floats.
      in2: array of rank n. With the direct method, one of the operands must be at most as large as
        the other along every axis.
      mode: "full" returns every element where the operands overlap; "same" returns the middle part
        of "full", of the shape of in1; "valid" returns the elements where one operand lies entirely
        within the other.
      method: "direct" (or "auto") sums products; "fft" uses `fftconvolve`.
      precision: precision of the products, as in `lax.conv_general_dilated`.

    Returns: array of rank n, of the inexact dtype to which both operands are promoted.

    Raises:
      ValueError: if the ranks differ, an operand is empty, neither operand fits into the other, or
        the mode or method is unknown.

    Example:
      >>> steps = jnp.array([0.0, 0.0, 6.0, 6.0, 6.0])
      >>> jax.scipy.signal.convolve(steps, jnp.full(3, 1 / 3), mode="valid").round(3)
      Array([2., 4., 6.], dtype=float32)
    """
    x, y = _operands("convolve", in1, in2, mode)
    return _convolve("convolve", x, y, mode, method, precision)


def _convolve(
    name: str, x: Array, y: Array, mode: Mode, method: str, precision: PrecisionLike
) -> Array:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be 'auto', 'direct' or 'fft', but got {method!r}")
    _with_elements(name, x, y)
    if method == "fft":
        return fftconvolve(x, y, mode)
    return _direct(name, x, y, mode, precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Computes the cross-correlation of arrays of equal rank.

    This is the convolution of in1 with the complex conjugate of in2, reversed along every axis. See
    `convolve` for the arguments, the result and the errors.

    Example:
      >>> jax.scipy.signal.correlate(jnp.array([1., 2., 3.]), jnp.array([0., 1.]), mode="valid")
      Array([2., 3.], dtype=float32)
    """
    x, y = _operands("correlate", in1, in2, mode)
    return _convolve("correlate", x, jnp.flip(y.conj()), mode, method, precision)


def _extended(x: Array, widths: Sequence[tuple[int, int]], boundary: str, fill: ArrayLike) -> Array:
    """Pads `x` beyond its edges according to `boundary`."""
    if boundary == "fill":
        return jnp.pad(x, widths, mode="constant", constant_values=jnp.asarray(fill, x.dtype))
    return jnp.pad(x, widths, mode=_PAD_MODES[boundary])


def _planes(
    name: str, in1: ArrayLike, in2: ArrayLike, mode: str, boundary: str
) -> tuple[Array, Array]:
    x, y = _operands(name, in1, in2, mode)
    if x.ndim != 2:
        raise ValueError(
            f"{name}: `in1` and `in2` must be matrices, but they have shapes {x.shape} and {y.shape}"
        )
    if boundary not in _PAD_MODES:
        raise ValueError(f"{name}: boundary must be 'fill', 'wrap' or 'symm', but got {boundary!r}")
    _with_elements(name, x, y)
    return x, y


def _beyond_edges(
    name: str,
    x: Array,
    y: Array,
    mode: Mode,
    starts: Sequence[int],
    boundary: str,
    fillvalue: ArrayLike,
    precision: PrecisionLike,
) -> Array:
    """Convolves matrices, with `x` extended beyond its edges as `boundary` specifies.

    In mode "same", the result is the part of the full convolution that begins at `starts`. In mode
    "valid", `x` is not extended.
    """
    if mode == "valid":
        return _direct(name, x, y, mode, precision)
    if mode == "full":
        widths = [(m - 1, m - 1) for m in y.shape]
    else:
        widths = [(m - 1 - start, start) for m, start in zip(y.shape, starts, strict=True)]
    return _direct(name, _extended(x, widths, boundary, fillvalue), y, "valid", precision)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: Literal["fill", "wrap", "symm"] = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Computes the convolution of two matrices.

    Args:
      in1: matrix; integers are converted to floats.
      in2: matrix.
      mode: "full", "same" or "valid", as in `convolve`.
      boundary: how in1 is extended beyond its edges, unless mode is "valid": "fill" extends it with
        `fillvalue`, "wrap" periodically, and "symm" by reflection about the edge. JAX supports only
        "fill" with 0.
      fillvalue: scalar for "fill".
      precision: precision of the products, as in `convolve`.

    Returns: matrix of the inexact dtype to which both operands are promoted.

    Raises:
      ValueError: if an operand is not a matrix or is empty, if the mode or boundary is unknown, or,
        in mode "valid", if neither operand fits into the other along both axes.

    Example:
      >>> jax.scipy.signal.convolve2d(jnp.eye(2), jnp.ones((2, 2)))
      Array([[1., 1., 0.],
             [1., 2., 1.],
             [0., 1., 1.]], dtype=float32)
    """
    x, y = _planes("convolve2d", in1, in2, mode, boundary)
    starts = [(m - 1) // 2 for m in y.shape]
    return _beyond_edges("convolve2d", x, y, mode, starts, boundary, fillvalue, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: Literal["fill", "wrap", "symm"] = "fill",
    fillvalue: ArrayLike = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Computes the cross-correlation of two matrices: in2 is conjugated and not reversed.

    In mode "same", each element of the result is the correlation with the center of in2 at that
    element of in1, as in SciPy. See `convolve2d` for the arguments, the result and the errors.

    Example:
      >>> jax.scipy.signal.correlate2d(jnp.eye(2), jnp.array([[1., 2.], [3., 4.]]), mode="same")
      Array([[5., 3.],
             [2., 1.]], dtype=float32)
    """
    x, y = _planes("correlate2d", in1, in2, mode, boundary)
    if mode == "valid" and not _contained("correlate2d", x.shape, y.shape):
        return _direct("correlate2d", jnp.flip(y), x.conj(), mode, precision)
    starts = [m // 2 for m in y.shape]
    kernel = jnp.flip(y.conj())
    return _beyond_edges("correlate2d", x, kernel, mode, starts, boundary, fillvalue, precision)


def _good_length(n: int) -> int:
    """Returns the least number 2^a 3^b 5^c >= `n`, a length for which transforms are fast."""
    best = 1 << max(n - 1, 0).bit_length()
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            best = min(best, odd << max(-(-n // odd) - 1, 0).bit_length())
            odd *= 3
        fives *= 5
    return best


def _axes(x: Array, y: Array, axes: Sequence[int] | int | None) -> list[int]:
    """Returns the axes to convolve; raises unless the operands broadcast along the other axes."""
    if axes is None:
        return list(range(x.ndim))
    axes_list = [axes] if isinstance(axes, int) else axes
    where = [operator.index(axis) for axis in axes_list]
    if any(not -x.ndim <= axis < x.ndim for axis in where):
        raise ValueError(f"fftconvolve: axes {tuple(where)} are out of bounds for rank {x.ndim}")
    where = [axis % x.ndim for axis in where]
    if len(set(where)) != len(where):
        raise ValueError(f"fftconvolve: axes must be unique, but got {tuple(axes_list)}")
    for axis in set(range(x.ndim)).difference(where):
        if x.shape[axis] != y.shape[axis] and 1 not in (x.shape[axis], y.shape[axis]):
            raise ValueError(
                f"fftconvolve: operands of shapes {x.shape} and {y.shape} do not broadcast along "
                f"axis {axis}, which is not convolved"
            )
    return where


def _middle(x: Array, extents: Sequence[int], axes: Sequence[int]) -> Array:
    """Returns the middle part of `x`, `extents` elements along each of `axes`."""
    index = [slice(None)] * x.ndim
    for axis, extent in zip(axes, extents, strict=True):
        start = (x.shape[axis] - extent) // 2
        index[axis] = slice(start, start + extent)
    return x[tuple(index)]


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", axes: Sequence[int] | int | None = None
) -> Array:
    """Computes the convolution of arrays of equal rank by Fourier transforms.

    The cost is O(n log n) operations for a result of n elements. Rounding errors are relative to
    the largest element of the result, not to each element.

    Args:
      in1: array of rank n; integers are converted to floats.
      in2: array of rank n.
      mode: "full", "same" or "valid", as in `convolve`.
      axes: axes to convolve; all by default. The operands broadcast along the other axes.

    Returns: array of rank n, of the inexact dtype to which both operands are promoted.

    Raises:
      ValueError: if the ranks differ, sizes along other axes do not broadcast, axes are out of
        bounds or repeated, the mode is unknown, or, in mode "valid", if neither operand fits into
        the other.

    Example:
      >>> jax.scipy.signal.fftconvolve(jnp.array([1., 2., 3.]), jnp.array([1., 1.])).round(3)
      Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _operands("fftconvolve", in1, in2, mode)
    where = _axes(x, y, axes)
    n, m = ([z.shape[axis] for axis in where] for z in (x, y))
    if mode == "valid":
        _contained("fftconvolve", n, m)
    if not where:
        return x * y
    full = [max(a + b - 1, 0) for a, b in zip(n, m, strict=True)]
    lengths = [_good_length(extent) for extent in full]
    # Transforms are computed in 32 bits at least; narrower floats are rounded once, at the end.
    dtype = x.dtype
    x, y = (z.astype(jnp.promote_types(dtype, jnp.float32)) for z in (x, y))
    if is_complex(dtype):
        spectrum = jnp.fft.fftn(x, lengths, where) * jnp.fft.fftn(y, lengths, where)
        out = jnp.fft.ifftn(spectrum, lengths, where)
    else:
        spectrum = jnp.fft.rfftn(x, lengths, where) * jnp.fft.rfftn(y, lengths, where)
        out = jnp.fft.irfftn(spectrum, lengths, where)
    index = [slice(None)] * x.ndim
    for axis, extent in zip(where, full, strict=True):
        index[axis] = slice(0, extent)
    out = out[tuple(index)].astype(dtype)
    if mode == "same":
        return _middle(out, n, where)
    if mode == "valid":
        return _middle(out, [abs(a - b) + 1 for a, b in zip(n, m, strict=True)], where)
    return out
