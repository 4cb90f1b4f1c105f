"""The stages of a program of two lines, each line in its colour from Python to LLVM."""

from __future__ import annotations

import re

from tools.pictures import specimens
from tools.pictures.code import ROW, Body, code
from tools.pictures.sheet import WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts, texts

_MARGIN = 6
_CALL = re.compile(r"= call i32 @(k\d+)\(")


def draw() -> Sheet:
    """Draws the stages of `center`."""
    fun, argument = specimens.center, jax.ShapeDtypeStruct((3, 8), jnp.float32)
    body = Body(fun)
    module = facts.lowered_module(fun, (argument,), {})
    blocks = texts.of_kernels(facts.of_module(module), body.places)
    of_kernel = {block.title: body.among(block.lines[0].places) for block in blocks}
    for block in blocks:
        block.lines[0].places = ()  # a head belongs to all lines of the kernel; here, to none
    entry = [
        texts.Line(line.strip(), of_kernel[called[1]])
        for line in jax.jit(fun).lower(argument).as_text("llvm").splitlines()
        if (called := _CALL.search(line))
    ]
    stages = [
        ("Python", "", body.python),
        ("jaxpr", "tracing", body.jaxpr(fun, argument)),
        ("tensor IR", "lowering, simplification", texts.of_tensor_ir(module, body.places)),
        ("kernels", "fusion", [line for block in blocks for line in block.lines]),
        ("LLVM IR", "calls in the entry", entry),
    ]
    sheet = Sheet(
        "Two lines of Python in each stage of the compiler",
        "The function center subtracts the mean of each row. Its first line, mean = x.mean(axis=1, "
        "keepdims=True), becomes a sum, a broadcast and a division in the jaxpr; in the tensor IR the "
        "division is a multiplication by 0.125. Kernel k0 computes the sums. The multiplication is "
        "fused into kernel k1 with the subtraction of the second line. The entry calls k0, then k1.",
    )
    y = 0.0
    for k, (name, what, lines) in enumerate(stages):
        if k:
            sheet.arrow(WIDTH / 2, y - 18, WIDTH / 2, y - 2)
        height = max(8 + ROW * len(lines), 44)
        sheet.area(0, y, WIDTH, height)
        sheet.text(12, y + 17, name, "title")
        if what:
            sheet.text(12, y + 34, what, "small", more="dim")
        code(sheet, 190, y + 4, WIDTH - 190 - _MARGIN, body.known(lines))
        y += height + 18
    sheet.height = y - 18
    return sheet
