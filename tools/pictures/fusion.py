"""A program before and after fusion, with the bytes that its operations and its kernels move."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tools.pictures import specimens
from tools.pictures.code import COLOURS, ROW, Body, code
from tools.pictures.sheet import GREEN, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.hlo.partition.text import bytes_text
from jitney.inspection import facts
from jitney.inspection.sources import source_of

_LEFT, _RIGHT = 250, 450  # the width of the operations, and of the kernels
_STEP = 38  # from an operation to the next
_BAR = 14
_LETTERS = 60  # in a line of a reason


def draw() -> Sheet:
    """Draws the operations of `unit` beside its kernels."""
    fun = specimens.unit
    body = Body(fun)
    module = facts.lowered_module(fun, (jax.ShapeDtypeStruct((1_000_000,), jnp.float32),), {})
    optimized = pipeline.optimize(module)
    program = facts.of_plan(module, pipeline.plan(optimized))
    operations = [
        node
        for node in traversal.topological_order(traversal.roots(optimized.region))
        if not isinstance(node, hlo.Parameter | hlo.Constant | hlo.Broadcast)
    ]
    before = [_moved(node) for node in operations]
    sheet = Sheet("Operations before and after fusion", "")
    sheet.area(0, 0, WIDTH, 8 + ROW * len(body.python))
    code(sheet, 0, 4, WIDTH - 6, body.python)
    top = 8 + ROW * len(body.python) + 26
    sheet.text(0, top, "Each operation by itself", "title")
    sheet.text(WIDTH - _RIGHT, top, "After fusion", "title")
    top += 12
    for k, (node, moved) in enumerate(zip(operations, before, strict=True)):
        y = top + k * _STEP
        source = source_of(node)
        assert source is not None
        (line,) = body.among(body.places.of([source]))
        sheet.area(0, y, _LEFT, _STEP - 8, COLOURS[line])
        sheet.area(0, y, 3, _STEP - 8, COLOURS[line], 1)
        sheet.text(12, y + 20, hlo.word(node), "code")
        sheet.text(_LEFT - 24, y + 20, bytes_text(moved), "small", "end")
        sheet.text(_LEFT - 8, y + 20, str(line + 1), "small", "end")
        if k:
            sheet.line(f"M{_LEFT / 2} {y - 8}v8")
    for k, work in enumerate(program.work, 1):
        rows = [
            operations.index(node)
            for step in work.steps
            for node in facts.nodes_of(step, program.plan.stored)
            if node in operations
        ]
        y = top + min(rows) * _STEP
        height = (max(rows) - min(rows) + 1) * _STEP - 8
        left = WIDTH - _RIGHT - 1
        for row in dict.fromkeys(rows):
            middle = top + row * _STEP + (_STEP - 8) / 2
            sheet.line(f"M{_LEFT + 6} {middle}H{left - 8}", "thin")
        sheet.area(left, y, _RIGHT, height)
        sheet.frame(left, y, _RIGHT, height)
        names = ", ".join(hlo.word(operations[row]) for row in sorted({*rows}))
        sheet.text(left + 12, y + 20, f"{k}.  {names}", "code")
        sheet.text(WIDTH - 10, y + 20, bytes_text(work.traffic), "small", "end")
        writes = ", ".join(name.strip("`") for name in work.writes)
        reasons = [f"in memory, because {value.reason}" for value in work.stored]
        lines = [f"{work.what}; writes {writes}", *textwrap.wrap(" ".join(reasons), _LETTERS)]
        for row, text in enumerate(lines):
            sheet.text(left + 12, y + 38 + ROW * row, text, "small", more="dim")
        if k > 1:
            sheet.arrow(left + _RIGHT / 2, y - 8, left + _RIGHT / 2, y)
    y = top + len(operations) * _STEP + 10
    after = sum(work.traffic for work in program.work)
    for name, moved in (("before", sum(before)), ("after", after)):
        sheet.text(0, y + 12, name, "small")
        length = (WIDTH - 180) * moved / sum(before)
        sheet.area(56, y, length, _BAR + 2, GREEN, 0.5)
        sheet.text(56 + length + 8, y + 12, f"{bytes_text(moved)} moved", "small")
        y += _BAR + 10
    sheet.height = y
    sheet.description = " ".join(_described(program, operations, before, after))
    return sheet


def _moved(node: hlo.Node) -> int:
    """Bytes that a node reads and writes if it is computed by itself; views and constants have none."""
    read: dict[hlo.Node, int] = {}
    for operand in traversal.operands(node):
        while isinstance(operand, hlo.Broadcast):
            (operand,) = traversal.operands(operand)
        if not isinstance(operand, hlo.Constant):
            read[operand] = operand.tensor_type.nbytes
    return sum(read.values()) + node.tensor_type.nbytes


def _described(
    program: facts.Program, operations: list[hlo.Node], before: list[int], after: float
) -> Iterator[str]:
    names = ", ".join(map(hlo.word, operations))
    yield f"By itself, each of {names} reads its operands and writes its result:"
    yield f"{bytes_text(sum(before))} in all. After fusion there are {len(program.work)} steps,"
    yield f"which move {bytes_text(after)}."
    for work in program.work:
        for value in work.stored:
            yield f"{value.name.text} is stored because {value.reason}."
