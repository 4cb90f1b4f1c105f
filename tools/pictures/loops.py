"""Three ways to compile a loop: as one kernel, across lanes, and over arrays."""

from __future__ import annotations

import re

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, GREEN, ORANGE, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp

_LEFT = 150
_ITERATIONS = 5
_COLUMN = (WIDTH - _LEFT) / _ITERATIONS
_BOX, _TALL = 84, 28  # a box of an iteration, of a value
_SWAP = re.compile(r"swap (\w+) <-> (\w+)")
_LAUNCH = re.compile(r"launch (k\d+)\(")


def draw() -> Sheet:
    """Draws the three ways, one below the other."""
    plan = jax.jit(specimens.diffuse).lower(jnp.ones(1000)).as_text("kernels")
    swap, body = _SWAP.search(plan), plan[plan.index(" do {") : plan.index("kernel k0")]
    assert swap is not None
    kernels = _LAUNCH.findall(body)
    sheet = Sheet(
        "A loop as one kernel, across lanes, and over arrays",
        "One kernel: each iteration reads an element of xs and writes one of ys in memory, and passes "
        "its carry to the next in registers. Across lanes: a loop of a batch would do an iteration for "
        "all lanes before the next; interchanged, a block of lanes does all iterations with its carry "
        "in registers, then the next block. Over arrays: an iteration launches kernels "
        f"{kernels[0]} to {kernels[-1]}, which read the carry in one buffer and write the next into "
        "another; the two are swapped after each iteration.",
    )
    _one_kernel(sheet, 0)
    _lanes(sheet, 206)
    _arrays(sheet, 412, f"{kernels[0]} to {kernels[-1]}", (swap[1], swap[2]))
    sheet.height = 582
    return sheet


def _box(sheet: Sheet, x: float, y: float, text: str, colour: str = "") -> None:
    sheet.area(x, y, _BOX, _TALL, colour, 0.4)
    if colour:
        sheet.frame(x, y, _BOX, _TALL, colour)
    else:
        sheet.line(f"M{x:.1f} {y:g}h{_BOX}v{_TALL}h-{_BOX}z", "thin")
    sheet.text(x + _BOX / 2, y + 18, text, "small", "middle")


def _one_kernel(sheet: Sheet, top: float) -> None:
    sheet.text(0, top + 16, "One kernel: the carry is in registers", "title")
    rows = (("xs, in memory", 32), ("iterations", 88), ("ys, in memory", 144))
    for name, y in rows:
        sheet.text(0, top + y + 18, name, "small", more="dim")
    for k in range(_ITERATIONS):
        x = _LEFT + k * _COLUMN
        middle = x + _BOX / 2
        _box(sheet, x, top + 32, f"xs[{k}]")
        sheet.arrow(middle, top + 62, middle, top + 86)
        _box(sheet, x, top + 88, f"i = {k}", BLUE)
        sheet.arrow(middle, top + 118, middle, top + 142)
        _box(sheet, x, top + 144, f"ys[{k}]")
        if k:
            sheet.arrow(x - _COLUMN + _BOX + 2, top + 102, x - 2, top + 102)


def _lanes(sheet: Sheet, top: float) -> None:
    sheet.text(
        0,
        top + 16,
        "Lanes: a block of rows runs all iterations (numbers: order of execution)",
        "title",
    )
    blocks, width, tall = 3, 46, 30
    for which, (name, first, second) in enumerate((
        ("as written", "iteration by iteration;", "the carry is in memory"),
        ("interchanged", "block by block;", "the carry is in registers"),
    )):  # fmt: skip
        left = which * 390
        sheet.text(left, top + 42, name)
        for row in range(blocks):
            sheet.text(left, top + 80 + row * tall, f"block {row}", "small", more="dim")
            for k in range(_ITERATIONS):
                number = row + k * blocks if which == 0 else row * _ITERATIONS + k
                x, y = left + 64 + k * width, top + 60 + row * tall
                # Cells that run one after the other, without others in between, have one colour.
                run = k if which == 0 else row
                colour = (BLUE, ORANGE, GREEN)[run % 3]
                sheet.area(x + 1, y + 1, width - 2, tall - 2, colour, 0.4)
                sheet.text(x + width / 2, y + 20, str(number + 1), "small", "middle")
        for k in range(_ITERATIONS):
            x = left + 64 + (k + 0.5) * width
            sheet.text(x, top + 56, f"i = {k}", "small", "middle", "dim")
        y = top + 60 + blocks * tall + 18
        sheet.text(left + 64, y, f"{first} {second}", "small", more="dim")
    sheet.arrow(316, top + 60 + blocks * tall / 2, 376, top + 60 + blocks * tall / 2)


def _arrays(sheet: Sheet, top: float, kernels: str, buffers: tuple[str, str]) -> None:
    sheet.text(0, top + 16, "Loop over arrays: kernels read one buffer and write another", "title")
    sheet.text(0, top + 50, "iterations", "small", more="dim")
    for row, name in enumerate(buffers):
        sheet.text(0, top + 106 + 40 * row, name, "code")
        sheet.line(f"M{_LEFT} {top + 102 + 40 * row}H{WIDTH}", "thin")
    for k in range(_ITERATIONS):
        x = _LEFT + k * _COLUMN
        _box(sheet, x, top + 32, kernels, BLUE)
        for way, row in (("reads", k % 2), ("writes", 1 - k % 2)):
            at, y = x + _BOX * (0.25 if way == "reads" else 0.75), top + 102 + 40 * row
            if way == "reads":
                sheet.arrow(at, y, at, top + 62)
            else:
                sheet.arrow(at, top + 62, at, y)
        sheet.text(x + _BOX / 2, top + 162, f"i = {k}", "small", "middle", "dim")
