"""Roles of axes in `ragged_dot_general`: contracted, batch, free and group axes."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.types.avals import ShapedArray
    from jitney.primitives.linalg.dot import DotDimensionNumbers


@dataclasses.dataclass(frozen=True, init=False, slots=True)
class RaggedDotDimensionNumbers:
    """The roles of the operands' axes in `ragged_dot_general`.

    Attributes:
      dot_dimension_numbers: ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
      lhs_ragged_dimensions: the single axis of lhs that is partitioned into groups.
      rhs_group_dimensions: the group axis of rhs if the ragged axis is free; otherwise empty.
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    def __init__(
        self,
        dot_dimension_numbers: DotDimensionNumbers,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        (cx, cy), (bx, by) = dot_dimension_numbers
        numbers = (_ints(cx), _ints(cy)), (_ints(bx), _ints(by))
        for name, value in (
            ("dot_dimension_numbers", numbers),
            ("lhs_ragged_dimensions", _ints(lhs_ragged_dimensions)),
            ("rhs_group_dimensions", _ints(rhs_group_dimensions)),
        ):
            object.__setattr__(self, name, value)


def _ints(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(int, axes))


class Mode(enum.Enum):
    """The role of the ragged axis."""

    FREE = "noncontracting"
    CONTRACTED = "contracting"
    BATCH = "batch"


@record(frozen=True)
class Axes:
    """The axes of both operands by role.

    Attributes:
      mode: the role of the ragged axis.
      ragged: the ragged axis of lhs.
      free: the free axes of lhs and of rhs, in ascending order, without the group axis.
      outer: the axes of lhs that precede the ragged axis and have the same role; group sizes may
        depend on the indices along these axes.
    """

    mode: Mode
    ragged: int
    free: tuple[tuple[int, ...], tuple[int, ...]]
    outer: tuple[int, ...]


def remaining(rank: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """Returns the axes less than `rank` that are not in `taken`."""
    return tuple([k for k in range(rank) if not any(k in axes for axes in taken)])


def roles(rank_x: int, rank_y: int, numbers: RaggedDotDimensionNumbers) -> Axes:
    """Determines the roles of the axes of operands with the given ranks."""
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    free_x = remaining(rank_x, cx, bx)
    free = free_x, remaining(rank_y, cy, by, numbers.rhs_group_dimensions)
    for mode, axes in ((Mode.FREE, free_x), (Mode.CONTRACTED, cx), (Mode.BATCH, bx)):
        if ragged in axes:
            return Axes(mode, ragged, free, tuple(axes[: axes.index(ragged)]))
    raise AssertionError("the ragged axis must be a free, contracted, or batch axis")


def prefix_axes(axes: Axes, numbers: RaggedDotDimensionNumbers) -> tuple[int, ...]:
    """Returns the axes of lhs to which leading axes of the group sizes correspond."""
    if axes.mode is Mode.BATCH:
        return axes.outer
    return (*numbers.dot_dimension_numbers[1][0], *axes.outer)


def check_axis(side: str, kind: str, axis: int, rank: int) -> None:
    """Raises TypeError unless `axis` is an axis of the operand."""
    if not 0 <= axis < rank:
        raise TypeError(
            f"ragged_dot_general: the {kind} axis of {side} must be in [0, {rank}), but is {axis}"
        )


def check_groups(
    y: ShapedArray, groups: int, axes: Axes, numbers: RaggedDotDimensionNumbers
) -> None:
    """Raises TypeError unless rhs has a group axis if and only if the ragged axis is free.

    The group axis must be neither contracted nor a batch axis, and must have one index per group.
    """
    (_, cy), (_, by) = numbers.dot_dimension_numbers
    wanted = 1 if axes.mode is Mode.FREE else 0
    if len(numbers.rhs_group_dimensions) != wanted:
        raise TypeError(
            f"ragged_dot_general: with a {axes.mode.value} ragged axis, rhs must have {wanted} group "
            f"axes, but rhs_group_dimensions is {numbers.rhs_group_dimensions}"
        )
    for axis in numbers.rhs_group_dimensions:
        check_axis("rhs", "group", axis, y.ndim)
        if axis in cy or axis in by:
            raise TypeError(
                f"ragged_dot_general: the group axis {axis} of rhs must be neither a contracted "
                "nor a batch axis"
            )
        if y.shape[axis] != groups:
            raise TypeError(
                f"ragged_dot_general: there are {groups} group sizes, but the group axis {axis} of rhs "
                f"has size {y.shape[axis]}"
            )
