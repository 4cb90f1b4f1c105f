"""The stages of a program of two lines, each line in its colour from Python to kernels."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, ORANGE, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts, texts

COLOURS = (BLUE, ORANGE)
_ROW = 16.5  # from a line of code to the next
_MARGIN = 6
_CALL = re.compile(r"= call i32 @(k\d+)\(")


class Lines:
    """The texts of a function's stages; each line with the numbers of those of the source."""

    def __init__(self, fun: Callable[..., Any], *args: object) -> None:
        source, first = inspect.getsourcelines(fun)
        places = texts.Places()
        file = inspect.getsourcefile(fun) or ""
        # The body's lines are numbered from 0, before anything else is found.
        for k in range(1, len(source)):
            places.number(file, first + k)
        body = range(len(source) - 1)

        def known(lines: Iterable[texts.Line]) -> list[texts.Line]:
            return [
                texts.Line(line.text, tuple(p for p in body if p in line.places)) for line in lines
            ]

        module = facts.lowered_module(fun, args, {})
        program = facts.of_module(module)
        jaxpr = jax.make_jaxpr(fun)(*args).jaxpr
        self.python = [
            texts.Line(line.rstrip(), (k - 1,) if k else ()) for k, line in enumerate(source)
        ]
        self.jaxpr = known(texts.of_jaxpr(jaxpr, places))
        self.tensor_ir = known(texts.of_tensor_ir(module, places))
        self.kernels = [
            texts.Block(b.title, known(b.lines)) for b in texts.of_kernels(program, places)
        ]
        # A kernel's head belongs to all of its lines; in a picture, to none.
        self.of_kernel = {block.title: block.lines[0].places for block in self.kernels}
        for block in self.kernels:
            block.lines[0].places = ()
        text = jax.jit(fun).lower(*args).as_text("llvm")
        self.entry = [
            texts.Line(line.strip(), tuple(p for p in body if p in self.of_kernel[called[1]]))
            for line in text.splitlines()
            if (called := _CALL.search(line))
        ]


def code(sheet: Sheet, x: float, y: float, width: float, lines: Iterable[texts.Line]) -> float:
    """Writes code, each line on the colours of the lines that it comes from; returns where it ends."""
    for line in lines:
        for k, place in enumerate(line.places):
            share = width / len(line.places)
            sheet.area(x + k * share, y, share, _ROW - 1, COLOURS[place])
            sheet.area(x + k * share, y, 3, _ROW - 1, COLOURS[place], 1)
        sheet.text(x + 2 * _MARGIN, y + 12, line.text, "code")
        if line.places:
            names = " ".join(str(place + 1) for place in line.places)
            sheet.text(x + width - _MARGIN, y + 12, names, "small", "end", "dim")
        y += _ROW
    return y


def draw() -> Sheet:
    """Draws the stages of `center`."""
    lines = Lines(specimens.center, jax.ShapeDtypeStruct((3, 8), jnp.float32))
    stages = [
        ("Python", "", lines.python),
        ("jaxpr", "tracing", lines.jaxpr),
        ("tensor IR", "lowering, simplification", lines.tensor_ir),
        ("kernels", "fusion", [line for block in lines.kernels for line in block.lines]),
        ("LLVM IR", "calls in the entry", lines.entry),
    ]
    sheet = Sheet(
        "Two lines of Python in each stage of the compiler",
        "The function center subtracts the mean of each row. Its first line, mean = x.mean(axis=1, "
        "keepdims=True), becomes a sum, a broadcast and a division in the jaxpr; in the tensor IR the "
        "division is a multiplication by 0.125. Kernel k0 computes the sums. The multiplication is "
        "fused into kernel k1 with the subtraction of the second line. The entry calls k0, then k1.",
    )
    y = 0.0
    for k, (name, what, body) in enumerate(stages):
        if k:
            sheet.arrow(WIDTH / 2, y - 18, WIDTH / 2, y - 2)
        height = max(8 + _ROW * len(body), 44)
        sheet.area(0, y, WIDTH, height)
        sheet.text(12, y + 17, name, "title")
        if what:
            sheet.text(12, y + 34, what, "small", more="dim")
        code(sheet, 190, y + 4, WIDTH - 190 - _MARGIN, body)
        y += height + 18
    sheet.height = y - 18
    return sheet
