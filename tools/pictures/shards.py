"""A mesh of four devices, and the part of an array that each device has, by the array's sharding."""

from __future__ import annotations

from tools.pictures.sheet import BLUE, GREEN, ORANGE, PURPLE, WIDTH, Sheet

import jitney as jax
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P

COLOURS = (BLUE, ORANGE, GREEN, PURPLE)
_SPECS = (P("rows"), P(None, "columns"), P("rows", "columns"), P(("rows", "columns")), P())
_SIZE = 4  # of the array, along both axes
_CELL = 16
_SIDE = _SIZE * _CELL
_STEP = _SIDE + 10  # from the array of a device to that of the next
_PANEL = WIDTH / 3
_HEIGHT = _STEP + _SIDE + 76


def draw() -> Sheet:
    """Draws the mesh, and an array of 4 x 4 elements by five shardings."""
    mesh = jax.make_mesh((2, 2), ("rows", "columns"), axis_types=(AxisType.Auto,) * 2)
    sheet = Sheet(
        "Shards of a 4 x 4 array over a mesh of 2 x 2 devices", "", height=2 * _HEIGHT - 14
    )
    _mesh(sheet, 26, 40)
    said = ["The mesh has the axes rows and columns and the devices 0 and 1, below them 2 and 3."]
    for k, spec in enumerate(_SPECS, 1):
        left, top = (k % 3) * _PANEL + 26, (k // 3) * _HEIGHT + 40
        said.append(_array(sheet, left, top, NamedSharding(mesh, spec)))
    sheet.description = " ".join(said)
    return sheet


def _mesh(sheet: Sheet, left: float, top: float) -> None:
    sheet.text(left, top - 24, "the mesh", "title")
    for device in range(4):
        x, y = left + device % 2 * _STEP, top + device // 2 * _STEP
        sheet.area(x, y, _SIDE, _SIDE, COLOURS[device], 0.4)
        sheet.frame(x, y, _SIDE, _SIDE, COLOURS[device])
        sheet.text(x + _SIDE / 2, y + _SIDE / 2 + 4, f"device {device}", "small", "middle")
    sheet.text(left + (_STEP + _SIDE) / 2, top - 7, "columns", "small", "middle", "dim")
    sheet.text(left + _STEP + _SIDE + 8, top + (_STEP + _SIDE) / 2 + 4, "rows", "small", more="dim")


def _array(sheet: Sheet, left: float, top: float, sharding: NamedSharding) -> str:
    """Draws an array once for each device, its shard filled; returns the same in words."""
    sheet.text(left, top - 12, str(sharding.spec).replace("'", '"'), "code")
    said: list[str] = []
    for device, index in sharding.devices_indices_map((_SIZE, _SIZE)).items():
        (y0, y1, _), (x0, x1, _) = (part.indices(_SIZE) for part in index)
        x, y = left + device.id % 2 * _STEP, top + device.id // 2 * _STEP
        colour = COLOURS[device.id]
        sheet.area(x, y, _SIDE, _SIDE)
        sheet.area(
            x + x0 * _CELL, y + y0 * _CELL, (x1 - x0) * _CELL, (y1 - y0) * _CELL, colour, 0.5
        )
        lines = [
            f"M{x + k * _CELL:g} {y:g}v{_SIDE}M{x:g} {y + k * _CELL:g}h{_SIDE}" for k in (1, 2, 3)
        ]
        sheet.line("".join(lines), "thin")
        sheet.frame(x, y, _SIDE, _SIDE, colour)
        said.append(f"device {device.id} rows {_span(y0, y1)}, columns {_span(x0, x1)}")
    shape = sharding.shard_shape((_SIZE, _SIZE))
    what = f"shards [{shape[0]},{shape[1]}]"
    sheet.text(left, top + _STEP + _SIDE + 18, what, "small", more="dim")
    return f"By {sharding.spec}: {'; '.join(said)}."


def _span(start: int, stop: int) -> str:
    return str(start) if stop == start + 1 else f"{start} to {stop - 1}"
