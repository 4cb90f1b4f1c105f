"""Two transformations of a function, one after the other: jaxprs, and the traces that made the last."""

from __future__ import annotations

from tools.pictures import specimens
from tools.pictures.code import ROW, Body, code
from tools.pictures.sheet import WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import texts

_GAP = 64  # between the panels, for an arrow and its label
_HEAD = 26
# What each trace does with an operation; the first receives those of the function.
_TRACES = (
    ("JVPTrace", "applies the rule jvp"),
    ("PartialTrace", "records the linear part"),
    ("BatchTrace", "applies the rule batch"),
    ("JaxprTrace", "records the operation"),
)


def draw() -> Sheet:
    """Draws a function, its derivative, and both over an axis."""
    f = specimens.f
    body = Body(f)
    one = jax.ShapeDtypeStruct((), jnp.float32)
    many = jax.ShapeDtypeStruct((5,), jnp.float32)
    rows = [
        [
            ("f", [*body.python, texts.Line(""), *body.jaxpr(f, one)]),
            ("grad(f)", body.jaxpr(jax.grad(f), one)),
        ],
        [
            ("vmap(f)", body.jaxpr(jax.vmap(f), many)),
            ("vmap(grad(f))", body.jaxpr(jax.vmap(jax.grad(f)), many)),
        ],
    ]
    sheet = Sheet(
        "A function, its gradient, and both batched",
        "Four jaxprs. f computes y = sin x, then y times x. To its right, grad(f) has seven equations: "
        "cos x from the rule of sin, and products from the rule of mul. Below, vmap(f) and "
        "vmap(grad(f)) have the same equations, on five elements at once. At the bottom, the traces "
        "through which an operation of f passes in vmap(grad(f)): JVPTrace, PartialTrace, BatchTrace, "
        "JaxprTrace; each passes the operations of its rules to the next.",
    )
    width = (WIDTH - _GAP) / 2
    tallest = max(len(lines) for row in rows for _, lines in row)
    height = _HEAD + ROW * tallest + 6
    for k, row in enumerate(rows):
        top = k * (height + 44)
        for m, (name, lines) in enumerate(row):
            left = m * (width + _GAP)
            sheet.area(left, top, width, height)
            sheet.text(left + 12, top + 18, name, "title")
            code(sheet, left + 6, top + _HEAD, width - 12, lines)
    middle = height / 2
    sheet.text(width + _GAP / 2, middle - 8, "grad", anchor="middle")
    sheet.arrow(width + 8, middle, width + _GAP - 8, middle)
    for m in range(2):
        middle = width / 2 + m * (width + _GAP)
        sheet.text(middle + 10, height + 26, "vmap")
        sheet.arrow(middle, height + 6, middle, height + 38)
    y = 2 * height + 44 + 34
    sheet.text(0, y, "An operation of f in vmap(grad(f)), from trace to trace", "title")
    y += 12
    each = (WIDTH - 3 * 24) / 4
    for k, (name, what) in enumerate(_TRACES):
        left = k * (each + 24)
        sheet.area(left, y, each, 48)
        sheet.text(left + each / 2, y + 20, name, "code", "middle")
        sheet.text(left + each / 2, y + 38, what, "small", "middle", "dim")
        if k:
            sheet.arrow(left - 22, y + 24, left - 2, y + 24)
    sheet.height = y + 48
    return sheet
