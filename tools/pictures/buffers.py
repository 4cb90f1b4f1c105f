"""The arena of a gradient over the steps of its program: offsets and lifetimes of its buffers."""

from __future__ import annotations

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, GREEN, ORANGE, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.hlo.partition.text import bytes_text
from jitney.compiler.plan import ir as plans
from jitney.core.util.record import record
from jitney.inspection import facts

_LEFT, _TOP = 74, 40
_HEIGHT = 40  # of the smallest buffer
_KINDS = (("product", BLUE), ("activation", GREEN), ("cotangent", ORANGE))


@record
class Life:
    """A buffer of the arena.

    Attributes:
      name: of the value that it first holds.
      offset, nbytes: where it is, and its size.
      first, last: the first and the last of the outermost steps that use it.
    """

    name: str
    offset: int
    nbytes: int
    first: int
    last: int


def lives(program: facts.Program) -> list[Life]:
    """The buffers of the arena, in the order of their first use."""
    found: dict[plans.Buffer, Life] = {}
    for at, work in enumerate(program.work):
        names = iter(work.writes)
        for buffer in dict.fromkeys(b for step in work.steps for b in plans.all_touched(step)):
            if buffer.place != "arena":
                continue
            if buffer not in found:
                found[buffer] = Life(next(names), buffer.index, buffer.nbytes, at, at)
            found[buffer].last = at
    return list(found.values())


def _kind(name: str) -> int:
    if name.startswith("the cotangent"):
        return 2
    return 1 if "tanh" in name else 0


def draw() -> Sheet:
    """Draws the buffers of the gradient of `loss`, four layers."""
    weights = [jax.ShapeDtypeStruct((256, 256), jnp.float32)] * 4
    x = jax.ShapeDtypeStruct((1024, 256), jnp.float32)
    program = facts.of_module(facts.lowered_module(jax.grad(specimens.loss), (weights, x), {}))
    found = lives(program)
    arena, alone = program.plan.arena_bytes, sum(life.nbytes for life in found)
    steps = len(program.work)
    unit = _HEIGHT / min(life.nbytes for life in found)
    column = (WIDTH - _LEFT - 2) / steps
    bottom = _TOP + arena * unit
    backward = next(
        at for at, work in enumerate(program.work) if any(s.is_transposed for s in work.sources)
    )
    sheet = Sheet(
        "Buffers of a gradient in the arena, step by step",
        f"The program has {steps} steps and {len(found)} buffers, {bytes_text(alone)} in all, in an "
        f"arena of {bytes_text(arena)}. Each activation lives from the step that computes it in the "
        "forward pass to its last use in the backward pass, so the first lives longest. Products and "
        "cotangents live for two or three steps, and take the place of buffers that are not needed "
        "any more.",
    )
    x0 = float(_LEFT)
    for name, colour in _KINDS:
        sheet.area(x0, 4, 14, 14, colour, 0.45)
        sheet.text(x0 + 20, 16, name, "small")
        x0 += 104
    sheet.text(
        WIDTH, 16, f"arena {bytes_text(arena)}; without sharing {bytes_text(alone)}", "small", "end"
    )
    for offset in sorted({life.offset for life in found} | {arena}):
        y = bottom - offset * unit
        sheet.line(f"M{_LEFT} {y:.1f}H{WIDTH}", "thin")
        sheet.text(_LEFT - 8, y + 4, bytes_text(offset), "small", "end", "dim")
    for life in found:
        left, width = _LEFT + life.first * column, (life.last - life.first + 1) * column
        top = bottom - (life.offset + life.nbytes) * unit
        colour = _KINDS[_kind(life.name)][1]
        sheet.area(left + 1, top + 1.5, width - 2, life.nbytes * unit - 3, colour, 0.4)
        sheet.frame(left + 1, top + 1.5, width - 2, life.nbytes * unit - 3, colour)
        name = life.name.strip("`").removeprefix("jnp.")
        shown = "cotangent" if _kind(life.name) == 2 else name
        sheet.text(left + width / 2, top + life.nbytes * unit / 2 + 4, shown, "small", "middle")
    for at in range(steps):
        sheet.text(_LEFT + (at + 0.5) * column, bottom + 18, str(at + 1), "small", "middle", "dim")
    sheet.text(_LEFT - 8, bottom + 18, "step", "small", "end", "dim")
    for first, last, name in ((0, backward, "forward pass"), (backward, steps, "backward pass")):
        left, right = _LEFT + first * column + 3, _LEFT + last * column - 3
        sheet.line(f"M{left:.1f} {bottom + 26}v5H{right:.1f}v-5")
        sheet.text((left + right) / 2, bottom + 47, name, "small", "middle")
    sheet.height = bottom + 54
    return sheet
