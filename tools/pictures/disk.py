"""Two processes with one program: the first compiles and stores it, a later one loads it."""

from __future__ import annotations

import tempfile

from tools.pictures import specimens
from tools.pictures.sheet import BLUE, GREEN, WIDTH, Sheet

import jitney as jax
import jitney.numpy as jnp

_LEFT = 116
_BOX, _TALL, _GAP = 74, 30, 18
_CONTENTS = (
    ("the program", "checksum, key, machine, types, constants, links"),
    ("its machine code", "objects, each named by the digest of its bytes"),
)


def stages() -> tuple[list[str], list[str]]:
    """The stages of a first call in a process that compiles a program, and in one that finds it."""
    names = "jax_enable_compilation_cache", "jax_compilation_cache_dir"
    before = [getattr(jax.config, name) for name in names]
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, value in zip(names, (True, folder), strict=True):
            jax.config.update(name, value)
        for _ in range(2):
            jax.clear_caches()  # a later process has nothing in memory
            compiled = jax.jit(specimens.center).lower(jnp.ones((3, 8))).compile()
            found.append([*compiled.timings()])
        for name, value in zip(names, before, strict=True):
            jax.config.update(name, value)
    return found[0], found[1]


def draw() -> Sheet:
    """Draws the stages of both, and the files in between."""
    first, later = stages()
    sheet = Sheet(
        "A program on disk, between two processes",
        f"The first process: {', '.join(first)}, run. It stores files of two kinds: the program, with "
        "checksum, key, machine, types, constants and links, and its machine code, in objects named by "
        f"the digest of their bytes. A later process: {', '.join(later)}, run. It loads the files if "
        "owner, permissions, checksums, key and types are right, and compiles the program otherwise.",
    )
    _process(sheet, 0, "first process", [*first, "run"], shared=len(later) - 1)
    end = _LEFT + (len(first) - 1) * (_BOX + _GAP) + _BOX / 2
    sheet.arrow(end, 46, end, 88)
    sheet.text(end + 10, 72, "stored", "small", more="dim")
    sheet.area(_LEFT, 92, WIDTH - _LEFT, 64)
    sheet.text(0, 128, "folder", "title")
    for k, (what, contents) in enumerate(_CONTENTS):
        sheet.text(_LEFT + 12, 116 + 24 * k, what)
        sheet.text(_LEFT + 140, 116 + 24 * k, contents, "small", more="dim")
    at = _LEFT + (len(later) - 1) * (_BOX + _GAP) + _BOX / 2
    sheet.arrow(at, 158, at, 208)
    sheet.text(
        at + 10,
        178,
        "if owner, permissions, checksums, key and types are right;",
        "small",
        more="dim",
    )
    sheet.text(at + 10, 195, "otherwise the program is compiled", "small", more="dim")
    _process(sheet, 212, "later process", [*later, "run"], shared=len(later) - 1)
    sheet.height = 250
    return sheet


def _process(sheet: Sheet, top: float, name: str, names: list[str], shared: int) -> None:
    """Draws the stages of a process; the first `shared` take place in both."""
    sheet.text(0, top + 24, name, "title")
    for k, stage in enumerate(names):
        x = _LEFT + k * (_BOX + _GAP)
        colour = GREEN if k < shared or stage == "run" else BLUE
        sheet.area(x, top + 4, _BOX, _TALL, colour, 0.3)
        sheet.frame(x, top + 4, _BOX, _TALL, colour)
        sheet.text(x + _BOX / 2, top + 23, stage, "code", "middle")
        if k:
            sheet.arrow(x - _GAP + 2, top + 19, x - 2, top + 19)
