"""Matrix products of block-scaled, narrow floating-point operands.

JAX implements them for GPUs only, and raises an error on CPUs. Here they are computed by
definition: operands are quantized as in JAX, multiplied by their scales, and contracted in float32.

Axes in this file: B batch elements, M rows of the left operand, N rows of the right operand, K
contracted elements, C blocks along K.

Sources: Open Compute Project, OCP Microscaling Formats (MX) Specification, 2023 (mxfp8); NVIDIA,
Introducing NVFP4 for efficient and accurate low-precision inference, 2025 (nvfp4).
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_vjp import custom_vjp
from jitney.api.jit.make_jaxpr import eval_shape
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.numpy.promotion import check_arraylike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array, ArrayLike, DTypeLike
    from jitney.primitives.linalg.dot import DotDimensionNumbers

_FLOAT32 = np.dtype(np.float32)
_LOWEST_EXPONENT, _BIAS = -127, 127  # of scales with eight exponent bits
_RESULTS = (_FLOAT32, np.dtype(dtypes.bfloat16), np.dtype(np.float16))


@dataclasses.dataclass(slots=True)
class BlockScaleConfig:
    """The configuration of block quantization of one operand.

    Attributes:
      mode: "mxfp8" or "nvfp4".
      block_size: number of consecutive elements that share a scale.
      data_type: dtype of the quantized elements.
      scale_type: dtype of the scales.
      global_scale: divisor of all elements before quantization, float32 [1]; or None.
      infer_only: whether the operand is used for inference only, without derivatives.
    """

    mode: str
    block_size: int
    data_type: DTypeLike
    scale_type: DTypeLike
    global_scale: Array | None
    infer_only: bool


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8"], global_scale: Array | None = None
) -> BlockScaleConfig:
    """Returns the configuration of block quantization for `scaled_dot_general`.

    Args:
      mode: "mxfp8" for blocks of 32 elements of 8 bits, with scales that are powers of two; "nvfp4"
        for blocks of 16 elements of 4 bits, with scales of 8 bits and one global scale.
      global_scale: global scale for "nvfp4", float32 [1]; 1 by default.

    Raises:
      ValueError: if `mode` is unknown.

    Example:
      >>> nn.get_scaled_dot_general_config("mxfp8").block_size
      32
    """
    if mode == "nvfp4":
        scale = jnp.ones((1,), np.float32) if global_scale is None else global_scale
        numbers = dtypes.float4_e2m1fn, dtypes.float8_e4m3fn
        return BlockScaleConfig("nvfp4", 16, *numbers, scale, False)
    if mode == "mxfp8":
        numbers = dtypes.float8_e4m3fn, dtypes.float8_e8m0fnu
        return BlockScaleConfig("mxfp8", 32, *numbers, None, False)
    raise ValueError(
        f"get_scaled_dot_general_config: mode must be 'nvfp4' or 'mxfp8', but got {mode!r}"
    )


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """Computes matrix products lhs rhs^T, with each element multiplied by the scale of its block.

    Args:
      lhs: array [B, M, K] of any numeric dtype.
      rhs: array [B, N, K] of any numeric dtype.
      lhs_scales: scales [B, M, C] of lhs; C must divide K, and each scale applies to K / C
        consecutive elements.
      rhs_scales: scales [B, N, C] of rhs.
      preferred_element_type: dtype of the result; products are accumulated in float32.

    Returns: array [B, M, N].

    Raises:
      ValueError: if shapes do not match.

    Example:
      >>> x, y = jnp.array([[[1, 2, 3]]]), jnp.array([[[4, 5, 6]]])
      >>> half = jnp.array([[[0.5]]])
      >>> nn.scaled_matmul(x, y, half, half)
      Array([[[8.]]], dtype=float32)
    """
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    x, y, x_scales, y_scales = map(jnp.asarray, (lhs, rhs, lhs_scales, rhs_scales))
    shapes = [z.shape for z in (x, y, x_scales, y_scales)]
    if any(len(s) != 3 for s in shapes):
        raise ValueError(
            f"scaled_matmul: all operands must have three axes, but got shapes {shapes}"
        )
    (batches, rows, length), (_, columns, _), (_, _, blocks), _ = shapes
    expected = [
        (batches, rows, length), (batches, columns, length), (batches, rows, blocks),
        (batches, columns, blocks),
    ]  # fmt: skip
    if shapes != expected or not blocks or length % blocks:
        raise ValueError(
            "scaled_matmul: expected lhs [B, M, K], rhs [B, N, K], lhs_scales [B, M, C] and "
            f"rhs_scales [B, N, C], where C divides K, but got shapes {shapes}"
        )
    left, right = (
        jnp.asarray(z, _FLOAT32) * jnp.repeat(jnp.asarray(s, _FLOAT32), length // blocks, axis=-1)
        for z, s in ((x, x_scales), (y, y_scales))
    )
    out = lax.dot_general(left, right, (((2,), (2,)), ((0,), (0,))))
    return out.astype(preferred_element_type)


def _quantized(
    x: Array, config: BlockScaleConfig, global_scale: Array | None
) -> tuple[Array, Array]:
    """Quantizes x [B, M, K]; returns the quantized elements [B, M, K] and scales [B, M, C]."""
    size = config.block_size
    if x.shape[-1] == 0 or x.shape[-1] % size:
        raise ValueError(
            f"scaled_dot_general: contracted sizes must be positive multiples of {size}, the block "
            f"size, but got {x.shape[-1]}"
        )
    x = x.astype(_FLOAT32)
    if global_scale is not None:
        x = x / global_scale
    limit = float(jnp.finfo(config.data_type).max)
    blocks = x.reshape(*x.shape[:-1], -1, size)
    ideal = jnp.max(jnp.abs(blocks), axis=-1) / limit
    if config.mode == "mxfp8":
        # Round up to a power of two.
        mantissa, exponent = jnp.frexp(ideal)
        exponent = jnp.where(mantissa > 0.5, exponent, exponent - 1)
        exponent = jnp.where(ideal == 0, 0, jnp.clip(exponent, _LOWEST_EXPONENT, _BIAS))
        scales = lax.bitcast_convert_type((exponent + _BIAS).astype(np.uint8), config.scale_type)
        scaled = jnp.ldexp(blocks, -exponent[..., None])
    else:
        highest = float(jnp.finfo(config.scale_type).max)
        scales = jnp.clip(ideal, 0, highest).astype(config.scale_type)
        divisor = scales.astype(_FLOAT32)
        scaled = blocks / jnp.where(divisor == 0, 1, divisor)[..., None]
    numbers = jnp.clip(scaled, -limit, limit).astype(config.data_type)
    return numbers.reshape(x.shape), scales


Configs = tuple[BlockScaleConfig, ...]
Scales = tuple["Array | None", ...]


def _product(x: Array, y: Array, configs: Configs, scales: Scales) -> Array:
    """Quantizes x [B, M, K] and y [B, N, K], and multiplies them to [B, M, N] in float32."""
    (left, left_scales), (right, right_scales) = (
        _quantized(z, c, s) for z, c, s in zip((x, y), configs, scales, strict=True)
    )
    out = scaled_matmul(left, right, left_scales, right_scales)
    for scale in scales:
        out = out if scale is None else out * scale
    return out


def _is_within(x: Array, config: BlockScaleConfig, scale: Array) -> Array:
    """Returns a mask of the elements that quantization does not clip."""
    limits = [float(jnp.finfo(t).max) for t in (config.data_type, config.scale_type)]
    return jnp.abs(x) <= scale * math.prod(limits)


def _scaled_dot(x: Array, y: Array, scales: Scales, configs: Configs) -> Array:
    """Computes `_product`, with a derivative that treats rounding as the identity."""

    @custom_vjp
    def product(x: Array, y: Array, scales: Scales) -> Array:
        return _product(x, y, configs[:2], scales[:2])

    def forward(x: Array, y: Array, scales: Scales) -> tuple[Array, tuple[Array, Array, Scales]]:
        return product(x, y, scales), (x, y, scales)

    def backward(
        residuals: tuple[Array, Array, Scales], ct: Array
    ) -> tuple[Array, Array, tuple[Array | None, ...]]:
        x, y, scales = residuals
        transposed = partial(jnp.swapaxes, axis1=1, axis2=2)
        cts: list[Array] = []
        for operand, k, other, mine in ((x, 0, y, ct), (y, 1, x, transposed(ct))):
            if configs[2].mode == "nvfp4":
                slope = jnp.matmul(mine, other.astype(_FLOAT32))
                scale = scales[k]
                if scale is not None:
                    slope = jnp.where(_is_within(operand, configs[k], scale), slope, 0)
            else:
                pair, of_pair = (configs[2], configs[1 - k]), (scales[2], scales[1 - k])
                slope = _product(mine, transposed(other), pair, of_pair)
            cts.append(slope.astype(operand.dtype))
        nothing = tuple([None if s is None else jnp.zeros_like(s) for s in scales])
        return cts[0], cts[1], nothing

    product.defvjp(forward, backward)
    return product(x, y, scales)


def _matrices(
    x: Array, contract: Sequence[int], batch: Sequence[int]
) -> tuple[Array, tuple[int, ...]]:
    """Reshapes x to [B, rows, K]; returns it and the sizes of its free axes."""
    free = [k for k in range(x.ndim) if k not in contract and k not in batch]
    extents = [math.prod([x.shape[k] for k in axes]) for axes in (batch, free, contract)]
    return (
        jnp.transpose(x, (*batch, *free, *contract)).reshape(extents),
        tuple([x.shape[k] for k in free]),
    )


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Array:
    """Contracts two operands after block quantization: the elements of a block share a scale.

    Reverse-mode derivatives treat rounding as the identity. In mode "nvfp4", the products in the
    backward pass are not quantized, and derivatives are 0 where an element was clipped.

    Args:
      lhs, rhs: floating arrays.
      dimension_numbers: as in `lax.dot_general`. The product of the sizes of the contracted axes
        must be a multiple of the block size; for derivatives in mode "mxfp8", the same holds for
        the free axes.
      preferred_element_type: dtype of the result: float32, bfloat16 or float16.
      configs: configurations for lhs, rhs and cotangents, from `get_scaled_dot_general_config`.
        None contracts the operands without quantization.
      implementation: deprecated and ignored.

    Returns: array of the shape that `lax.dot_general` returns.

    Raises:
      ValueError: if contracted sizes are not multiples of the block size.
      TypeError: if shapes do not match, or the dtype of the result is not one of these.

    Example:
      >>> x, y = jnp.full((2, 32), 3.0), jnp.full((4, 32), 0.5)
      >>> configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
      >>> nn.scaled_dot_general(x, y, (((1,), (1,)), ((), ())), configs=configs)
      Array([[48., 48., 48., 48.],
             [48., 48., 48., 48.]], dtype=float32)
    """
    if implementation is not None:
        warn("scaled_dot_general: implementation is ignored", DeprecationWarning)
    if configs is None:
        return lax.dot_general(
            lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
        )
    check_arraylike("scaled_dot_general", lhs, rhs)
    if np.dtype(preferred_element_type) not in _RESULTS:
        raise TypeError(
            "scaled_dot_general: preferred_element_type must be float32, bfloat16 or float16, but "
            f"got {np.dtype(preferred_element_type)}"
        )
    x, y = jnp.asarray(lhs), jnp.asarray(rhs)
    eval_shape(partial(lax.dot_general, dimension_numbers=dimension_numbers), x, y)  # its errors
    (cx, cy), (bx, by) = dimension_numbers
    left, free_x = _matrices(x, cx, bx)
    right, free_y = _matrices(y, cy, by)
    scales = tuple([c.global_scale for c in configs])
    out = _scaled_dot(left, right, scales, tuple(configs)).astype(preferred_element_type)
    return out.reshape(*[x.shape[k] for k in bx], *free_x, *free_y)
