"""Text diagrams of shardings: which devices hold which shard of an array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.primitives.array.inspection import inspect_array_sharding

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

# For the diagram of a square array: lines, and columns per line, as characters are taller than
# wide.
_LINES, _COLUMNS_PER_LINE = 10, 2.5
_COLUMNS_OF_ONE_LINE = 5  # for arrays with one axis
_MAX_COLORS = 20

ColorMap = Callable[[float], tuple[float, float, float, float]]


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: ColorMap | None = None,
) -> None:
    """Prints a diagram of how an array of `shape` is sharded.

    Args:
      shape: the shape of an array with one or two axes.
      sharding: the sharding.
      use_color: whether to color the shards in a terminal.
      scale: a factor for the size of the diagram.
      min_width: the minimum width of a shard, in columns.
      max_width: the maximum width of the diagram, in columns.
      color_map: maps a number in [0, 1] to (red, green, blue, alpha) in [0, 1].

    Raises:
      ValueError: if `shape` does not have one or two axes, or `sharding` cannot divide it evenly.

    Example:
      >>> jax.debug.visualize_sharding((4,), jnp.ones(4).sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    if len(shape) not in (1, 2):
        raise ValueError(
            f"`visualize_sharding` draws shapes of one or two axes, but got {tuple(shape)}: "
            "reshape the array, or print sharding.devices_indices_map(shape)"
        )
    counts, owners = _parts(tuple(shape), sharding)
    rows, columns = counts
    if len(shape) == 1:
        height, width = 1, int(_COLUMNS_OF_ONE_LINE * scale / columns)
    else:
        height = int(_LINES * scale / rows)
        across = _LINES * _COLUMNS_PER_LINE * scale * shape[1] / max(shape[0], 1)
        width = int(min(across, max_width) / columns)
    texts = [_text(devices) for devices in owners.values()]
    width = max(width, min_width, max(map(len, texts)) + 2) - 2
    widths = _fitting([width] * columns, max_width)
    paint = _painter(color_map) if use_color and sys.stdout.isatty() else _plain
    print(_picture(counts, owners, widths, max(height - 1, 1), paint))


def _parts(
    shape: tuple[int, ...], sharding: Sharding
) -> tuple[tuple[int, int], dict[tuple[int, int], list[Device]]]:
    """Returns (number of shards along rows, along columns), and the devices of each shard."""
    sharding.check_fits(shape)
    tiling = sharding.tiling(len(shape))
    owners: dict[tuple[int, int], list[Any]] = {}
    for tile, device in zip(tiling.tiles, sharding.device_order, strict=True):
        row, column = tile if len(tile) == 2 else (0, *tile)
        owners.setdefault((row, column), []).append(device)
    rows, columns = tiling.counts if len(shape) == 2 else (1, *tiling.counts)
    return (rows, columns), owners


def _text(devices: Sequence[Any]) -> str:
    numbers = ",".join([str(n) for n in sorted([d.id for d in devices])])
    return f"{devices[0].platform.upper()} {numbers}"


def _fitting(widths: list[int], most: int) -> list[int]:
    """Returns `widths`, reduced so that the diagram is at most `most` columns wide."""
    room = most - len(widths) - 1
    if sum(widths) <= room:
        return widths
    each, remainder = divmod(max(room, len(widths)), len(widths))
    return [each + (k < remainder) for k in range(len(widths))]


def _picture(
    counts: tuple[int, int],
    owners: dict[tuple[int, int], list[Any]],
    widths: Sequence[int],
    height: int,
    paint: Callable[[str, float], str],
) -> str:
    rows, columns = counts

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width for width in widths]) + right

    lines = [rule("┌", "┬", "┐")]
    for row in range(rows):
        for k in range(height):
            cells: list[str] = []
            for column, width in enumerate(widths):
                text = _text(owners[row, column])[:width] if k == (height - 1) // 2 else ""
                left = (width - len(text)) // 2
                cell = (" " * left + text).ljust(width)
                cells.append(paint(cell, (row * columns + column) / (rows * columns)))
            lines.append("│" + "│".join(cells) + "│")
        lines.append(rule("├", "┼", "┤") if row < rows - 1 else rule("└", "┴", "┘"))
    return "\n".join(lines)


def _plain(text: str, _: float) -> str:
    return text


def _painter(color_map: ColorMap | None) -> Callable[[str, float], str]:
    def paint(text: str, place: float) -> str:
        red, green, blue = [int(255 * x) for x in (color_map or _hue)(place)[:3]]
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 128
        return f"\x1b[{97 if dark else 30}m\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m"

    return paint


def _hue(place: float) -> tuple[float, float, float, float]:
    """Returns a color on the color circle for a number in [0, 1]; neighbors differ strongly."""
    import colorsys  # rarely needed

    return (*colorsys.hsv_to_rgb((place * _MAX_COLORS * 0.618) % 1, 0.5, 0.8), 1.0)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Prints a diagram of the sharding of an array, also within jitted functions.

    Args:
      arr: an array with one or two axes.
      **kwargs: options of `visualize_sharding`.

    Example:
      >>> jax.debug.visualize_array_sharding(jnp.ones(4))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = arr.shape
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs)
    )


for _function in (visualize_sharding, visualize_array_sharding):
    _function.__module__ = "jax.debug"
