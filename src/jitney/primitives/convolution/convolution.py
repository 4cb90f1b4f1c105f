"""`conv_general_dilated`: convolutions in any layout, with strides, dilations and feature groups.

The transposes of a convolution are convolutions. In the transpose with respect to the operand, the
window is reversed, its input and output features are exchanged, and strides are exchanged with the
dilation of the operand (Dumoulin and Visin, A guide to convolution arithmetic for deep learning,
2016, section 4). In the transpose with respect to the window, batch and features are exchanged, the
cotangent serves as the window, strides are exchanged with the dilation of the window, and feature
groups become batch groups. Batch axes of `vmap` are merged into the batch or the features, or, if
both operands are batched, into the groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.dims import ConvolutionDims, dilated
from jitney.compiler.reference import convolution as reference, scalar
from jitney.core.sharding_in_types import explicit, sums
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.thresholds import threshold
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.out_places import out_place
from jitney.primitives.array.resharding import as_named, reshard
from jitney.primitives.array.shape import reshape, rev
from jitney.primitives.convolution.dimensions import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    Pads,
    conv_dimension_numbers,
    operand_shapes,
    pads_of,
    permuted,
)
from jitney.primitives.elementwise import compiled_rules, families
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.linalg.precision import canonical_precision
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, DTypeLike
    from jitney.primitives.linalg.precision import PrecisionLike
    from jitney.primitives.rule_types import Builder, Cotangent, Dims, Node, Operand, Value

conv_general_dilated_p = declare("conv_general_dilated")
conv_general_dilated_p.linearity = sums.CONTRACTION
conv_general_dilated_p.sharding(sharding_rules.convolution)

# the number of products above which compiled code is faster than NumPy
MANY_PRODUCTS = threshold(1 << 22, small=32)


# --- types ----------------------------------------------------------------------------------------


def _check_ranks(x: ShapedArray, w: ShapedArray, params: dict[str, Any]) -> None:
    if x.ndim != w.ndim:
        raise ValueError(
            f"conv_general_dilated: `lhs` and `rhs` must have the same rank, but have the shapes "
            f"{x.shape} "
            f"and {w.shape}"
        )
    for name in ("window_strides", "padding", "lhs_dilation", "rhs_dilation"):
        if len(params[name]) != x.ndim - 2:
            raise ValueError(
                f"conv_general_dilated: `{name}` must have one entry for each of the {x.ndim - 2} axes "
                f"of the window, but has {len(params[name])}"
            )
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        if any(n < 1 for n in params[name]):
            raise ValueError(f"conv_general_dilated: {name} must be positive, got {params[name]}")
    window = permuted(w.shape, params["dimension_numbers"].rhs_spec[2:])
    if 0 in window:
        raise ValueError(
            f"conv_general_dilated: rhs must not be empty along spatial axes, got {w.shape}"
        )


def _check_groups(x: ShapedArray, w: ShapedArray, params: dict[str, Any]) -> None:
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    batch, channels = permuted(x.shape, numbers.lhs_spec)[:2]
    features, per_group = permuted(w.shape, numbers.rhs_spec)[:2]
    name = "conv_general_dilated"
    for which, count, what, extent in (
        ("feature_group_count", groups, "features of lhs", channels),
        ("batch_group_count", batch_groups, "batch of lhs", batch),
    ):
        if count < 1:
            raise ValueError(f"{name}: {which} must be positive, got {count}")
        if extent % count:
            raise ValueError(f"{name}: {which} must divide the {what}, but {extent} % {count} != 0")
        if features % count:
            raise ValueError(
                f"{name}: {which} must divide the result features of rhs, but {features} % {count} != 0"
            )
    if channels // groups != per_group:
        raise ValueError(
            f"{name}: rhs of shape {w.shape} must have as many input features as a group of lhs of "
            f"shape {x.shape}, {channels} // {groups}, but has {per_group}"
        )
    if groups > 1 and batch_groups > 1:
        raise ValueError(
            f"{name}: only one of feature_group_count and batch_group_count may exceed 1, got "
            f"{groups} and {batch_groups}"
        )


def _check_preferred(operand_dtype: np.dtype, preferred: np.dtype) -> None:
    """Raises TypeError if products of `operand_dtype` cannot be accumulated as `preferred`."""

    def is_a(tested: np.dtype, kind: type[np.generic]) -> bool:
        return dtypes.issubdtype(tested, kind)

    fits = (
        (is_a(operand_dtype, np.integer) and not is_a(preferred, np.complexfloating))
        or (is_a(operand_dtype, np.floating) and is_a(preferred, np.floating))
        or (is_a(operand_dtype, np.complexfloating) and is_a(preferred, np.complexfloating))
    )
    if not fits and operand_dtype != preferred:
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`: integers are summed as integers "
            "or floats, floats as floats, complex numbers as complex numbers; got "
            f"{dtypes.long_name(operand_dtype)} and {dtypes.long_name(preferred)}."
        )
    same_kind = is_a(operand_dtype, np.integer) == is_a(preferred, np.integer)
    if same_kind and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(operand_dtype):
        raise TypeError(
            f"conv_general_dilated: `preferred_element_type` must have at least as many bits as the "
            f"operands, {dtypes.long_name(operand_dtype)}, but is {dtypes.long_name(preferred)}"
        )
    unsigned = is_a(operand_dtype, np.signedinteger) and is_a(preferred, np.unsignedinteger)
    if unsigned or (is_a(operand_dtype, np.unsignedinteger) and is_a(preferred, np.signedinteger)):
        raise TypeError(
            f"conv_general_dilated: `preferred_element_type` must be signed if and only if the "
            f"operands, {dtypes.long_name(operand_dtype)}, are, but is {dtypes.long_name(preferred)}"
        )


def _dims(params: dict[str, Any]) -> ConvolutionDims:
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    padding: Pads = params["padding"]
    return ConvolutionDims(
        tuple(numbers.lhs_spec), tuple(numbers.rhs_spec), tuple(numbers.out_spec),
        tuple(params["window_strides"]), tuple([lo for lo, _ in padding]),
        tuple([hi for _, hi in padding]), tuple(params["lhs_dilation"]),
        tuple(params["rhs_dilation"]), params["feature_group_count"], params["batch_group_count"],
    )  # fmt: skip


@conv_general_dilated_p.abstract
def _conv_general_dilated_abstract(x: ShapedArray, w: ShapedArray, **params: Any) -> ShapedArray:
    _check_ranks(x, w, params)
    _check_groups(x, w, params)
    families.check_same_dtypes("conv_general_dilated", (x, w))
    dtype = x.dtype
    if params["preferred_element_type"] is not None:
        _check_preferred(dtype, params["preferred_element_type"])
        dtype = params["preferred_element_type"]
    weak = x.weak_type and w.weak_type and params["preferred_element_type"] is None
    return shaped_array(_dims(params).result_shape(x.shape, w.shape), dtype, weak)


# --- values ---------------------------------------------------------------------------------------


def _carrier(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of accumulation; int32 for booleans, in order to count true products."""
    return np.dtype(np.int32) if dtype == np.bool_ else dtype


@conv_general_dilated_p.eager
def _conv_general_dilated_eager(x: np.ndarray, w: np.ndarray, **params: Any) -> np.ndarray:
    dtype = (
        x.dtype if params["preferred_element_type"] is None else params["preferred_element_type"]
    )
    dims = _dims(params)
    shape = dims.result_shape(x.shape, w.shape)
    features = w.shape[dims.w_axes[0]]
    if features and int(np.prod(shape)) * (w.size // features) >= MANY_PRODUCTS:
        return compiled_rules.compiled(conv_general_dilated_p, x, w, **params)
    x, w = (scalar.convert(v, _carrier(dtype)) for v in (x, w))
    return scalar.convert(reference.convolution(x, w, dims), dtype)


@conv_general_dilated_p.lower
def _conv_general_dilated_lower(b: Builder, x: Node, w: Node, **params: Any) -> Node:
    dtype = (
        x.dtype if params["preferred_element_type"] is None else params["preferred_element_type"]
    )
    x, w = (b.convert(v, _carrier(dtype)) for v in (x, w))
    return b.convert(b.convolution(x, w, _dims(params)), dtype)


# --- the function ---------------------------------------------------------------------------------


def conv_general_dilated(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Computes an n-dimensional convolution with strides, padding, dilations and groups.

    out[n, o, f] = sum over k, c of lhs[n, o * stride + k * rhs_dilation - low, c] * rhs[k, c, f],
    where o and k are indices along the spatial axes, of which there may be any number. As usual for
    neural networks, the window is not reversed.

    Args:
      lhs: an array with batch, feature and spatial axes.
      rhs: the window, an array of the same dtype with axes for the features of the result and the
        features of (one group of) `lhs`, and with spatial axes.
      window_strides: distance between windows along each spatial axis.
      padding: "SAME", "SAME_LOWER", "VALID", or a pair (low, high) for each spatial axis: the
        numbers of zeros to add before and after `lhs`. Negative padding removes elements.
      lhs_dilation: dilation of `lhs` along each spatial axis; a dilation of d inserts d - 1 zeros
        between elements.
      rhs_dilation: dilation of the window: the distance between its elements in `lhs`.
      dimension_numbers: see `conv_dimension_numbers`.
      feature_group_count: number of groups of features, each convolved with a separate set of
        windows.
      batch_group_count: number of groups of the batch, each convolved with a separate set of
        windows.
      precision: see `jitney.primitives.linalg.precision`; operands are never rounded to a narrower
        dtype on a CPU.
      preferred_element_type: dtype of accumulation and of the result.
      out_sharding: sharding of the result on the context mesh.

    Returns: an array with batch, feature and spatial axes, in the layout given by
      `dimension_numbers`.

    Raises:
      TypeError: if dtypes or dimension numbers are incompatible.
      ValueError: if sizes or numbers of groups are incompatible.

    Accuracy: error <= k u / (1 - k u) * sum |lhs| |rhs|, for a sum of k products with unit roundoff
      u.

    Example:
      >>> x = jnp.arange(5.0).reshape(1, 1, 5)
      >>> lax.conv_general_dilated(x, jnp.array([[[1.0, -1.0]]]), (1,), "VALID")
      Array([[[-1., -1., -1., -1.]]], dtype=float32)
    """
    lhs_shape, rhs_shape = operand_shapes("conv_general_dilated", lhs, rhs, dimension_numbers)
    rank = len(lhs_shape) - 2
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    numbers = ConvDimensionNumbers(*[tuple(map(int, spec)) for spec in numbers])
    dilations = [
        (1,) * max(rank, 0) if d is None else tuple(map(int, d))
        for d in (lhs_dilation, rhs_dilation)
    ]
    strides = tuple(map(int, window_strides))
    if isinstance(padding, str):
        if len(strides) != rank:
            raise ValueError(
                f"conv_general_dilated: `window_strides` must have one entry for each of the {rank} "
                f"axes of the window, but has {len(strides)}"
            )
        for name, dilation in zip(("lhs_dilation", "rhs_dilation"), dilations, strict=True):
            if len(dilation) != rank:
                raise ValueError(
                    f"conv_general_dilated: `{name}` must have one entry for each of the {rank} axes "
                    f"of the window, but has {len(dilation)}"
                )
        if any(d < 1 for d in dilations[1]):
            raise TypeError(
                f"conv_general_dilated: rhs_dilation must be positive, got {dilations[1]}"
            )
    pads = pads_of(
        padding, permuted(lhs_shape, numbers.lhs_spec[2:]),
        permuted(rhs_shape, numbers.rhs_spec[2:]), strides, *dilations,
    )  # fmt: skip
    if len(pads) != rank:
        raise TypeError(
            f"conv_general_dilated: padding must have one pair for each of the {rank} spatial axes, "
            f"but is {pads}"
        )
    preferred = preferred_element_type
    if preferred is not None:
        dtypes.check_user_dtype_supported(preferred, "conv_general_dilated")
        preferred = dtypes.requested_dtype(preferred)
    return conv_general_dilated_p.bind(
        lhs, rhs, window_strides=strides, padding=pads, lhs_dilation=dilations[0],
        rhs_dilation=dilations[1], dimension_numbers=numbers,
        feature_group_count=int(feature_group_count), batch_group_count=int(batch_group_count),
        precision=canonical_precision(precision), preferred_element_type=preferred,
        out_sharding=out_place(out_sharding, "conv_general_dilated"),
    )  # fmt: skip


# --- derivatives ----------------------------------------------------------------------------------


def _space(x: Operand, spec: Sequence[int]) -> list[int]:
    return [rules.shape_of(x)[k] for k in spec[2:]]


def _bind(
    x: Value, w: Value, params: dict[str, Any], numbers: Sequence[Sequence[int]], **changed: Any
) -> Array:
    """Binds a convolution with changed parameters; converts operands to the accumulation dtype.

    One of the operands is a cotangent, which a user's rule may have widened.
    """
    of_sums = params["preferred_element_type"]
    if of_sums is None:
        of_sums = dtypes.promote_types(rules.aval_of(x).dtype, rules.aval_of(w).dtype)
    x, w = (_as(v, of_sums) for v in (x, w))
    specs = ConvDimensionNumbers(*map(tuple, numbers))
    return conv_general_dilated_p.bind(x, w, **(params | changed), dimension_numbers=specs)


def _as(x: Value, dtype: np.dtype) -> Value:
    return x if rules.aval_of(x).dtype == dtype else convert_element_type(x, dtype)


def _lengths(x: Operand, w: Operand, ct: Operand, params: dict[str, Any]) -> list[tuple[int, ...]]:
    """Returns, per axis, the dilated sizes of operand, window and result, and the low padding."""
    lhs, rhs, out = params["dimension_numbers"]
    return [
        (dilated(n, dn), dilated(k, dk), dilated(o, s), low)
        for n, dn, k, dk, o, s, (low, _) in zip(
            _space(x, lhs), params["lhs_dilation"], _space(w, rhs), params["rhs_dilation"],
            _space(ct, out), params["window_strides"], params["padding"], strict=True,
        )
    ]  # fmt: skip


def _by_operand(ct: Value, x: Operand, w: Value, **params: Any) -> Value:
    aval = rules.aval_of(x)
    lhs, rhs, out = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    pads: list[tuple[int, int]] = []
    for n, k, o, low in _lengths(x, w, ct, params):
        before = k - low - 1
        pads.append((before, n + k - 1 - o - before))
    count = groups if groups > 1 else batch_groups
    if count > 1:
        w = _merged(rhs[0], rhs[1], _divided(rhs[0], count, w))
    w = rev(w, tuple(rhs[2:]))
    operand_ct = _bind(
        ct, w, {name: v for name, v in params.items() if name != "dimension_numbers"},
        (out, (rhs[1], rhs[0], *rhs[2:]), lhs), padding=tuple(pads),
        window_strides=params["lhs_dilation"], lhs_dilation=params["window_strides"],
        feature_group_count=count, batch_group_count=1,
        out_sharding=explicit.sharding_of(aval.to_cotangent_aval()) if batch_groups == 1 else None,
    )  # fmt: skip
    if batch_groups > 1:
        operand_ct = _merged(lhs[1], lhs[0], _divided(lhs[1], batch_groups, operand_ct))
    return _as(operand_ct, aval.dtype)


def _by_window(ct: Value, x: Value, w: Operand, **params: Any) -> Cotangent:
    aval = rules.aval_of(w)
    if 0 in rules.shape_of(ct):
        return Zero(aval.to_cotangent_aval())
    specs = [(spec[1], spec[0], *spec[2:]) for spec in params["dimension_numbers"]]
    pads = [(low, o + k - n - 1 - low) for n, k, o, low in _lengths(x, w, ct, params)]
    window_ct = _bind(
        x, ct, {name: v for name, v in params.items() if name != "dimension_numbers"},
        (specs[0], specs[2], specs[1]), padding=tuple(pads),
        window_strides=params["rhs_dilation"], rhs_dilation=params["window_strides"],
        feature_group_count=params["batch_group_count"],
        batch_group_count=params["feature_group_count"],
        out_sharding=explicit.sharding_of(aval.to_cotangent_aval()),
    )  # fmt: skip
    return _as(window_ct, aval.dtype)


rules.defbilinear(conv_general_dilated_p, _by_operand, _by_window)


# --- batching -------------------------------------------------------------------------------------


def _merged(source: int, to: int, x: Value) -> Array:
    """Merges axis `source`, as the major part, into axis `to` of the remaining axes."""
    shape = list(rules.shape_of(x))
    order = [k for k in range(len(shape)) if k != source]
    order.insert(to, source)
    count = shape.pop(source)
    shape[to] *= count
    return reshape(x, shape, order)


def _divided(axis: int, count: int, x: Value) -> Array:
    """Splits axis `axis` into two axes, the first of which has size `count`."""
    shape = list(rules.shape_of(x))
    shape[axis : axis + 1] = [count, shape[axis] // count]
    return reshape(x, shape)


def _of_empty_batch(args: Sequence[Value], dims: Dims, params: dict[str, Any]) -> tuple[Value, int]:
    """Returns the results for an empty batch, whose axis cannot be merged into feature groups."""
    avals = [
        aval if d is None else aval.update(shape=(*aval.shape[:d], *aval.shape[d + 1 :]))
        for aval, d in zip(map(rules.aval_of, args), dims, strict=True)
    ]
    one: ShapedArray = conv_general_dilated_p.result_type(tuple(avals), params)[0]
    return Zero(one.update(shape=(0, *one.shape))).instantiate(), 0


@conv_general_dilated_p.batch
def _conv_general_dilated_batch(
    args: Sequence[Value], dims: Dims, **params: Any
) -> tuple[Value, int]:
    if rules.batch_size(args, dims) == 0:
        return _of_empty_batch(args, dims, params)
    place = params["out_sharding"]
    if place is None:
        return _batched(args, dims, params)
    pairs = zip(args, dims, strict=True)
    names = next(explicit.names_along(rules.aval_of(x), d) for x, d in pairs if d is not None)
    out, dim = _batched(args, dims, {**params, "out_sharding": None})
    return reshard(out, as_named(explicit.batched(place, dim, names), "conv_general_dilated")), dim


def _batched(args: Sequence[Value], dims: Dims, params: dict[str, Any]) -> tuple[Value, int]:
    (x, w), (dx, dw) = args, dims
    lhs, rhs, out = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if dx is not None and dw is not None:
        count = rules.shape_of(x)[dx]
        if batch_groups > 1:
            x, params["batch_group_count"] = _merged(dx, lhs[0], x), batch_groups * count
        else:
            x, params["feature_group_count"] = _merged(dx, lhs[1], x), groups * count
        result = conv_general_dilated_p.bind(x, _merged(dw, rhs[0], w), **params)
        return _divided(out[1], count, result), out[1]
    if dx is not None:
        count = rules.shape_of(x)[dx]
        if batch_groups > 1:
            # Groups remain the major part of the batch.
            x = _divided(lhs[0] + (dx <= lhs[0]), batch_groups, x)
            dx += dx > lhs[0]
            x = _merged(lhs[0], lhs[0], _merged(dx, lhs[0] + 1, x))
        else:
            x = _merged(dx, lhs[0], x)
        result = conv_general_dilated_p.bind(x, w, **params)
        return _divided(out[0], count, result), out[0]
    assert dw is not None
    count, several = rules.shape_of(w)[dw], max(groups, batch_groups)
    if several == 1:
        result = conv_general_dilated_p.bind(x, _merged(dw, rhs[0], w), **params)
        return _divided(out[1], count, result), out[1]
    # Groups remain the major part of the features.
    w = _divided(rhs[0] + (dw <= rhs[0]), several, w)
    dw += dw > rhs[0]
    w = _merged(rhs[0], rhs[0], _merged(dw, rhs[0] + 1, w))
    result = _divided(out[1], several, conv_general_dilated_p.bind(x, w, **params))
    result = _divided(out[1] + 1, count, result)
    return _merged(out[1], out[1] + 1, result), out[1]
