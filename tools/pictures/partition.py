"""A dense layer over a mesh: the shards of two devices, and the program that each device runs."""

from __future__ import annotations

import re

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, ORANGE, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

_DATA, _MODEL = 4, 2
_ROW = 16.5
_TOP = 66  # of the tensors
_TALL = 128  # the height of the longest tensor, whose other sizes are to scale but for the least
_SENDS = re.compile(r"sends ([\d.]+ \w+)")


def draw() -> Sheet:
    """Draws the layer of the partitioner's page over 4 x 2 devices."""
    mesh = AbstractMesh((_DATA, _MODEL), ("data", "model"), (AxisType.Auto,) * 2)

    def tensor(shape: tuple[int, ...], *spec: str | None) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, P(*spec)))

    w1, w2 = tensor((64, 128), None, "model"), tensor((128, 16), "model")
    x = tensor((256, 64), "data")
    text = jax.jit(specimens.layer).lower(w1, w2, x).as_text("partitioned")
    sends = _SENDS.search(text)
    assert sends is not None
    sheet = Sheet(
        "A dense layer partitioned over 4 x 2 devices",
        "The batch x is divided into four blocks of rows, w1 into two blocks of columns, w2 into two "
        "blocks of rows. Device (1, 0) multiplies its rows of x by its columns of w1, and the result "
        "by its rows of w2; device (1, 1) does the same with the other columns and rows. Both have a "
        "term of the same rows of the result. An all-reduce over model adds them; each device sends "
        f"{sends[1]}. Below, the program that every device runs.",
    )
    for k, colour in enumerate((BLUE, ORANGE)):
        sheet.area(k * 120, 4, 14, 14, colour, 0.5)
        sheet.text(k * 120 + 20, 16, f"device (1, {k})", "small")
    sheet.text(
        WIDTH,
        16,
        "device (d, m) of a mesh with data=4, model=2; a cell in both colours is on both",
        "small",
        "end",
        "dim",
    )
    two = (BLUE, ORANGE)
    _tensor(sheet, 14, "x", "[256,64]", 34, _TALL, (_DATA, 1), {(1, 0): two})
    _sign(sheet, 63, "@")
    _tensor(sheet, 78, "w1", "[64,128]", 66, 34, (1, _MODEL), {(0, k): (two[k],) for k in (0, 1)})
    _sign(sheet, 175, "tanh")
    sheet.arrow(154, _TOP + _TALL / 2, 194, _TOP + _TALL / 2)
    _tensor(
        sheet,
        206,
        "h",
        "[256,128]",
        66,
        _TALL,
        (_DATA, _MODEL),
        {(1, k): (two[k],) for k in (0, 1)},
    )
    _sign(sheet, 292, "@")
    _tensor(sheet, 312, "w2", "[128,16]", 24, 66, (_MODEL, 1), {(k, 0): (two[k],) for k in (0, 1)})
    sheet.arrow(364, _TOP + _TALL / 2, 404, _TOP + _TALL / 2)
    for k in (0, 1):
        _tensor(sheet, 420 + 62 * k, f"term {k}", "", 24, _TALL, (_DATA, 1), {(1, 0): (two[k],)})
    _sign(sheet, 463, "+")
    middle = _TOP + _TALL / 2
    sheet.text(599, middle - 26, "all-reduce over model", "small", "middle")
    sheet.text(599, middle - 10, f"each sends {sends[1]}", "small", "middle", "dim")
    sheet.arrow(524, middle, 676, middle)
    _tensor(sheet, 696, "result", "[256,16]", 24, _TALL, (_DATA, 1), {(1, 0): two})
    lines = text[text.index("module") : text.rindex("}") + 1].splitlines()
    lines = [line.partition("  # ")[0] for line in lines]
    y = _TOP + _TALL + 44
    sheet.text(0, y, "The program of each device", "title")
    y += 10
    sheet.area(0, y, WIDTH, 8 + _ROW * len(lines))
    for k, line in enumerate(lines):
        sheet.text(12, y + 16 + _ROW * k, line, "code")
    sheet.height = y + 8 + _ROW * len(lines)
    return sheet


def _sign(sheet: Sheet, x: float, sign: str) -> None:
    raised = 8 if len(sign) > 1 else -5
    sheet.text(x, _TOP + _TALL / 2 - raised, sign, "", "middle")


def _tensor(
    sheet: Sheet,
    left: float,
    name: str,
    shape: str,
    width: float,
    height: float,
    parts: tuple[int, int],
    held: dict[tuple[int, int], tuple[str, ...]],
) -> None:
    """Draws a tensor in `parts`; those of `held` have the colours of the devices that hold them."""
    top = _TOP + (_TALL - height) / 2
    tall, wide = height / parts[0], width / parts[1]
    for row in range(parts[0]):
        for column in range(parts[1]):
            x, y = left + column * wide, top + row * tall
            colours = held.get((row, column), ())
            for k, colour in enumerate(colours):
                each = wide / len(colours)
                sheet.area(x + k * each, y, each, tall, colour, 0.5)
            if not colours:
                sheet.area(x, y, wide, tall)
            sheet.line(f"M{x:g} {y:g}h{wide:g}v{tall:g}h{-wide:g}z")
    sheet.text(left + width / 2, top - 8, name, "code", "middle")
    if shape:
        sheet.text(left + width / 2, top + height + 16, shape, "small", "middle", "dim")
