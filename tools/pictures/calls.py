"""How often Python calls native code for a loop: by operation, by iteration, and once."""

from __future__ import annotations

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, ORANGE, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.plan import ir as plans
from jitney.inspection import facts

_LEFT, _RIGHT = 196, 150  # the room of names, and of numbers
_TALL = 26
_PYTHON = 14  # the width of a stretch of Python
_ROW = 58


def draw() -> Sheet:
    """Draws the calls for `lorenz`: 1,000 steps of Euler's method."""
    argument = jax.ShapeDtypeStruct((3,), jnp.float32)
    [scan] = jax.make_jaxpr(specimens.lorenz)(argument).eqns
    length: int = scan.params["length"]
    operations = len(scan.params["jaxpr"].eqns)
    program = facts.of_module(facts.lowered_module(specimens.lorenz, (argument,), {}))
    [launch] = program.plan.steps  # the whole loop is one kernel
    assert isinstance(launch, plans.Launch)
    rows = (
        ("eager operations", "in a Python loop", 16, length * operations),
        ("a jitted step", "in a Python loop", 60, length),
        ("a jitted scan", "the whole loop", 0, 1),
    )
    sheet = Sheet(
        "Calls of native code for a loop of 1,000 iterations",
        f"The loop has {length:,} iterations of {operations} operations. Calls of native code: "
        + "; ".join(f"{name} {what}: {calls:,}" for name, what, _, calls in rows)
        + ". Python runs before each call of native code.",
    )
    for k, (name, colour) in enumerate((("Python", ORANGE), ("native code", BLUE))):
        sheet.area(_LEFT + k * 90, 4, 14, 14, colour, 0.5)
        sheet.text(_LEFT + k * 90 + 20, 16, name, "small")
    sheet.text(WIDTH, 16, "calls", "small", "end")
    end = float(WIDTH - _RIGHT)
    for k, (name, what, native, calls) in enumerate(rows):
        y = 34 + k * _ROW
        sheet.text(0, y + 12, name)
        sheet.text(0, y + 29, what, "small", more="dim")
        x = float(_LEFT)
        width = native or end - x - _PYTHON
        while x + _PYTHON + width <= end:
            sheet.area(x, y + 4, _PYTHON - 1, _TALL, ORANGE, 0.5)
            sheet.area(x + _PYTHON, y + 4, width - 1, _TALL, BLUE, 0.5)
            x += _PYTHON + width
        if calls > 1:
            sheet.text(end + 4, y + 21, "...")
        sheet.text(WIDTH, y + 21, f"{calls:,}", "title", "end")
    sheet.text(_LEFT, 34 + 3 * _ROW, "The widths are not to scale.", "small", more="dim")
    sheet.height = 34 + 3 * _ROW + 8
    return sheet
