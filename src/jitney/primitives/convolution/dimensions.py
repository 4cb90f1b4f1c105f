"""Dimension numbers, padding and result shapes of convolutions.

The specification of an array's axes lists the batch axis, the feature axis and the spatial axes;
that of a window lists the output feature axis, the input feature axis and the spatial axes. Users
write specifications as strings such as "NHWC" and "HWIO", in which the letters of the batch and
feature axes are fixed, and those of the spatial axes are arbitrary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from jitney.compiler.dims import dilated
from jitney.core.symbolic.expressions import index, max_dim
from jitney.primitives.elementwise import families
from jitney.primitives.reduction.windows import padtype_to_pads
from jitney.primitives.rules import shape_of

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Operand

Shape: TypeAlias = tuple[int, ...]
Pads: TypeAlias = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """The axes of a convolution's operand, window and result.

    Attributes:
      lhs_spec: axes of the operand: (batch, feature, spatial ...).
      rhs_spec: axes of the window: (output feature, input feature, spatial ...).
      out_spec: axes of the result: (batch, feature, spatial ...).
    """

    lhs_spec: Sequence[int]
    rhs_spec: Sequence[int]
    out_spec: Sequence[int]


ConvGeneralDilatedDimensionNumbers: TypeAlias = tuple[str, str, str] | ConvDimensionNumbers | None
"""Dimension numbers of a convolution: strings, specifications, or None for the default layout."""

_LETTERS = (("N", "C"), ("O", "I"), ("N", "C"))


def conv_dimension_numbers(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> ConvDimensionNumbers:
    """Converts dimension numbers of a convolution to specifications of axes.

    Args:
      lhs_shape: shape of the operand.
      rhs_shape: shape of the window, which has the same rank.
      dimension_numbers: strings for the operand, the window and the result, such as ("NHWC",
        "HWIO", "NHWC"); a `ConvDimensionNumbers`, which is returned unchanged; or None. The default
        is the batch axis followed by the feature axis and the spatial axes; for the window, the
        output feature axis followed by the input feature axis and the spatial axes.

    Raises:
      TypeError: if ranks differ, or a string does not name each axis once.

    Example:
      >>> lax.conv_dimension_numbers((2, 8, 8, 3), (5, 5, 3, 4), ("NHWC", "HWIO", "NHWC")).rhs_spec
      (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "conv_dimension_numbers: the ranks of lhs and rhs must be equal, but they are "
            f"{len(lhs_shape)} and {len(rhs_shape)}"
        )
    if dimension_numbers is None:
        axes = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(axes, axes, axes)
    given: Any = dimension_numbers
    if not isinstance(given, list | tuple):
        raise TypeError(
            "conv_dimension_numbers: dimension_numbers must be a tuple of three strings, or None, "
            f"but got {dimension_numbers!r}"
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "conv_dimension_numbers: dimension_numbers must have entries for lhs, rhs and result, "
            f"but got {dimension_numbers!r}"
        )
    if not _are_strings(dimension_numbers):
        raise TypeError(
            "conv_dimension_numbers: entries of dimension_numbers must be strings such as 'NHWC', "
            f"but got {dimension_numbers!r}"
        )
    for i, spec in enumerate(dimension_numbers):
        if len(spec) != len(lhs_shape):
            raise TypeError(
                f"conv_dimension_numbers: dimension_numbers[{i}] must have one letter for each axis, "
                f"but {spec!r} has {len(spec)} for lhs of shape {lhs_shape} and rhs of shape "
                f"{rhs_shape}"
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def _are_strings(specs: Sequence[object]) -> bool:
    return all([isinstance(spec, str) for spec in specs])


def operand_shapes(
    name: str, lhs: Operand, rhs: Operand, numbers: ConvGeneralDilatedDimensionNumbers
) -> tuple[Shape, Shape]:
    """Returns the shapes of the operand and the window of a convolution.

    Raises:
      TypeError: if the operands are not arrays of equal rank with batch and feature axes.
      ValueError: if the ranks differ, and `numbers` is a `ConvDimensionNumbers`.
    """
    families.check_operands(name, lhs, rhs)
    shapes = shape_of(lhs), shape_of(rhs)
    ranks = len(shapes[0]), len(shapes[1])
    if ranks[0] != ranks[1] and isinstance(numbers, ConvDimensionNumbers):
        raise ValueError(
            f"{name}: `lhs` and `rhs` must have the same rank, but have the shapes {shapes[0]} and "
            f"{shapes[1]}"
        )
    if ranks[0] != ranks[1] or ranks[0] < 2:
        raise TypeError(
            f"{name}: the ranks of lhs and rhs must be equal and at least two, but the shapes are "
            f"{shapes[0]} and {shapes[1]}"
        )
    return shapes


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[Shape, Shape, Shape]:
    """Returns the permutations that three dimension strings specify.

    Raises:
      TypeError: if a string lacks a batch or feature letter or repeats a letter, or if the strings
        do not name the same spatial axes.

    Example:
      >>> lax.conv_general_permutations(("NWHC", "HWIO", "NHWC"))
      ((0, 3, 2, 1), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    given: Any = dimension_numbers
    if (
        not isinstance(given, (tuple, list))
        or len(dimension_numbers) != 3
        or not _are_strings(dimension_numbers)
    ):
        raise TypeError(
            "conv_general_permutations: dimension_numbers must be three strings, but is "
            f"{dimension_numbers!r}"
        )
    space: list[set[str]] = []
    for i, (spec, letters) in enumerate(zip(dimension_numbers, _LETTERS, strict=True)):
        if any(spec.count(letter) != 1 for letter in letters):
            raise TypeError(
                f"conv_general_permutations: dimension_numbers[{i}] must contain each of the letters "
                f"{letters[0]} and {letters[1]} once, but is {spec!r}"
            )
        if len(set(spec)) != len(spec):
            raise TypeError(
                f"conv_general_permutations: dimension_numbers[{i}] names an axis twice: {spec!r}"
            )
        space.append(set(spec) - set(letters))
    if not space[0] == space[1] == space[2]:
        raise TypeError(
            "conv_general_permutations: entries of dimension_numbers must name the same spatial axes, "
            f"but are {tuple(dimension_numbers)}"
        )
    order = [letter for letter in dimension_numbers[1] if letter in space[1]]
    permutations: list[Shape] = []
    for spec, letters in zip(dimension_numbers, _LETTERS, strict=True):
        permutations.append(tuple([spec.index(letter) for letter in (*letters, *order)]))
    return permutations[0], permutations[1], permutations[2]


def inverse(permutation: Sequence[int]) -> Shape:
    """Returns the inverse permutation."""
    return tuple([int(k) for k in np.argsort(permutation)])


def permuted(shape: Sequence[int], spec: Sequence[int]) -> Shape:
    """Returns the sizes of `shape` in the order of `spec`."""
    return tuple([index(shape[k]) for k in spec])


# --- padding --------------------------------------------------------------------------------------


def pads_of(
    padding: str | Sequence[tuple[int, int]],
    lhs_space: Sequence[int],
    rhs_space: Sequence[int],
    strides: Sequence[int],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
) -> Pads:
    """Converts padding to (low, high) for each spatial axis.

    Raises:
      ValueError: if `padding` is neither a name nor pairs, or if it is a name and the operand is
        dilated.
    """
    if isinstance(padding, str):
        if any(d != 1 for d in lhs_dilation):
            raise ValueError(
                f"conv_general_dilated: padding by name ({padding!r}) is not defined for a dilated "
                f"lhs, but lhs_dilation is {tuple(lhs_dilation)}; pass (low, high) pairs, or use "
                "conv_transpose"
            )
        window = [dilated(n, d) for n, d in zip(rhs_space, rhs_dilation, strict=True)]
        return tuple(padtype_to_pads(lhs_space, window, strides, padding))
    try:
        return tuple([(index(lo), index(hi)) for lo, hi in padding])
    except (ValueError, TypeError) as error:
        raise ValueError(
            "conv_general_dilated: the padding argument must be a name or a (low, high) pair for "
            f"each spatial axis, got {padding}"
        ) from error


def pads_of_transpose(k: int, s: int, padding: str) -> tuple[int, int]:
    """Returns the padding of a transposed convolution with window size `k` and stride `s`.

    Raises:
      ValueError: if `padding` is neither "SAME" nor "VALID".
    """
    if padding == "SAME":
        total = k + s - 2
        low = k - 1 if s > k - 1 else -(-total // 2)
    elif padding == "VALID":
        total = k + s - 2 + max(k - s, 0)
        low = k - 1
    else:
        raise ValueError(f"conv_transpose: padding must be 'SAME' or 'VALID', but got {padding!r}")
    return low, total - low


# --- shapes ---------------------------------------------------------------------------------------


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> Shape:
    """Returns the shape of a convolution of [N, C, space] with [O, I, space], without dilation.

    Raises:
      TypeError: if `pads` does not have one pair for each spatial axis.

    Example:
      >>> lax.conv_shape_tuple((2, 4, 8, 8), (6, 4, 3, 3), (1, 2), "SAME")
      (2, 6, 8, 4)
    """
    if isinstance(pads, str):
        pads = padtype_to_pads(lhs_shape[2:], rhs_shape[2:], strides, pads)
    if len(pads) != len(lhs_shape) - 2:
        raise TypeError(
            f"conv_shape_tuple: padding must have one pair for each of the {len(lhs_shape) - 2} "
            f"spatial axes, but has {len(pads)}"
        )
    space: list[int] = []
    for n, k, s, pad in zip(lhs_shape[2:], rhs_shape[2:], strides, pads, strict=True):
        space.append(max_dim((n + sum(pad) - k) // s + 1, 0))
    return tuple(map(index, (lhs_shape[0] // batch_group_count, rhs_shape[0], *space)))


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> Shape:
    """Returns the shape of the result of a convolution without dilation.

    Example:
      >>> lax.conv_general_shape_tuple(
      ...     (2, 8, 8, 4), (3, 3, 4, 6), (2, 1), "VALID", ("NHWC", "HWIO", "NHWC")
      ... )
      (2, 3, 6, 6)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    shape = conv_shape_tuple(
        permuted(lhs_shape, lhs), permuted(rhs_shape, rhs), window_strides, padding
    )
    return permuted(shape, inverse(out))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: ConvGeneralDilatedDimensionNumbers,
) -> Shape:
    """Returns the shape of the result of `conv_transpose`.

    Example:
      >>> lax.conv_transpose_shape_tuple(
      ...     (2, 8, 8, 4), (3, 3, 4, 6), (2, 1), "SAME", ("NHWC", "HWIO", "NHWC")
      ... )
      (2, 16, 8, 6)
    """
    lhs, rhs, out = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    x, w = permuted(lhs_shape, lhs), permuted(rhs_shape, rhs)
    if isinstance(padding, str):
        padding = [
            pads_of_transpose(k, s, padding) for k, s in zip(w[2:], window_strides, strict=True)
        ]
    space = [
        dilated(n, s) + sum(pad) - k + 1
        for n, k, s, pad in zip(x[2:], w[2:], window_strides, padding, strict=True)
    ]
    return permuted((x[0], w[0], *space), inverse(out))
