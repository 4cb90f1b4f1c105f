"""Layouts: the order of an array's axes in memory.

All arrays of jitney are row-major. Programs written for other machines may request other layouts,
which are checked and shown but do not affect values. An array's format always describes its actual
layout.
"""

from __future__ import annotations

from typing import Any

from jitney.core.sharding.sharding import Sharding
from jitney.core.types.memory_space import AUTO, AutoLayout as AutoLayout
from jitney.core.util.record import record, replace


@record(frozen=True)
class DeviceLayout:
    """A layout as clients describe it: the axes of an array, fastest first.

    Attributes:
      ndim: the number of axes, which are in row-major order.
    """

    ndim: int

    def __str__(self) -> str:
        return "{" + ",".join(map(str, reversed(range(self.ndim)))) + "}"


@record(frozen=True)
class Layout:
    """The order of an array's axes in memory.

    Attributes:
      major_to_minor: the axes, slowest first.
      tiling: sizes of tiles, as in XLA; None if unspecified.
      sub_byte_element_size_in_bits: the size of elements that are smaller than a byte.
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO = AUTO

    @staticmethod
    def for_array(x: Any) -> Layout:
        """Returns the layout of an array: row-major order."""
        return rows(x.ndim)

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> Layout:
        """Returns the layout that `Client.get_default_layout` describes.

        Raises:
          TypeError: if `pjrt_layout` is another object.
        """
        if not isinstance(pjrt_layout, DeviceLayout):
            raise TypeError(
                "Layout.from_pjrt_layout takes a result of Client.get_default_layout, but got "
                f"{pjrt_layout!r}"
            )
        return rows(pjrt_layout.ndim)

    def update(self, **changes: Any) -> Layout:
        """Returns a copy of this layout with other values for some fields."""
        return replace(self, **changes)

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Checks that arrays of a shape can have this layout.

        Raises:
          ValueError: if the number of axes differs.
        """
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError(
                f"{self} orders {len(self.major_to_minor)} axes, but an array of shape "
                f"{tuple(aval_shape)} has {len(aval_shape)}"
            )


@record(frozen=True)
class Format:
    """The layout and the sharding of an array.

    Raises:
      TypeError: if a field is of another type.
      ValueError: if there is a layout, but no sharding.
    """

    layout: Layout | AutoLayout | None = None
    sharding: Sharding | None = None

    def __post_init__(self) -> None:
        layout: Any = self.layout  # unchecked, from the user
        place: Any = self.sharding
        if not (layout is None or isinstance(layout, Layout | AutoLayout)):
            raise TypeError(
                f"Format: layout must be a Layout, Layout.AUTO or None, but is {layout!r}, of "
                f"type {type(layout)}"
            )
        if not (place is None or isinstance(place, Sharding)):
            raise TypeError(
                f"Format: sharding must be a Sharding or None, but is {place!r}, of type "
                f"{type(place)}"
            )
        if isinstance(layout, Layout) and place is None:
            raise ValueError(
                f"Format: {layout} needs a sharding; pass one, too, as in Format(layout, x.sharding)"
            )

    def check_fits(self, shape: tuple[int, ...]) -> None:
        """Checks that an array of `shape` can have this format.

        Raises:
          ValueError: if the layout is for another number of axes.
        """
        if isinstance(self.layout, Layout):
            self.layout.check_compatible_aval(shape)


def rows(ndim: int) -> Layout:
    """Returns the row-major layout of an array of `ndim` axes."""
    return Layout(tuple(range(ndim)), ())
