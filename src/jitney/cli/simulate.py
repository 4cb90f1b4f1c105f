"""`jitney simulate`: what programs over a mesh of any size would take, without its devices.

It runs a Python program. Whatever the program lowers (`jax.jit(f).lower(...)`) for arguments whose
types say where they lie on a mesh is partitioned for a mesh of the given extents, whose axes are those
of the program's in their order, and planned; times follow from an alpha-beta model of the links and
from the operations of a device. Nothing that is lowered is run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.cli import run
from jitney.cli.quantities import seconds
from jitney.core.record import record

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.compiler.hlo.sharding_propagation import Spec
    from jitney.compiler.plan.estimate import Machine

USAGE = """\
usage: jitney simulate --mesh 64x8 [option ...] program.py [argument ...]

Estimates the programs that program.py lowers for arguments on a mesh, on a mesh of 64 by 8 devices.

  --mesh EXTENTS        extents of the program's mesh, in the order of its axes
  --latency SECONDS     of a message between two devices
  --bandwidth BYTES     a second that a device sends
  --operations NUMBER   a second that a device does
  --memory BYTES        a second that a device reads and writes
"""
_RATES = ("latency", "bandwidth", "operations", "memory")


@record(frozen=True)
class Options:
    """What the words before the program say."""

    extents: tuple[int, ...]
    machine: Machine


def main(arguments: Sequence[str]) -> int:
    """Runs the command; gives the exit code."""
    words = list(arguments)
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    try:
        options, rest = _parse(words)
    except ValueError as error:
        print(f"jitney simulate: {error}", file=sys.stderr)
        print(USAGE, end="", file=sys.stderr)
        return 2
    from jitney.runtime import placements

    def report(
        module: ir.Module,
        specs: Sequence[Spec],
        mesh: Mapping[Any, int],
        results: Sequence[Spec | None],
    ) -> None:
        print(simulate(module, specs, mesh, options, results))

    placements.observers.append(report)
    try:
        return run.run_path(rest[0], rest[1:])
    finally:
        placements.observers.remove(report)


def _parse(words: list[str]) -> tuple[Options, list[str]]:
    """The options, and the program with its arguments.

    Raises:
      ValueError: saying what is wrong.
    """
    from jitney.compiler.plan.estimate import Machine

    extents: tuple[int, ...] = ()
    rates: dict[str, float] = {}
    while words and words[0].startswith("--"):
        name, equals, value = words.pop(0)[2:].partition("=")
        if not equals:
            if not words:
                raise ValueError(f"--{name} needs a value")
            value = words.pop(0)
        try:
            if name == "mesh":
                extents = tuple([int(n) for n in value.split("x")])
            elif name in _RATES:
                rates[name] = float(value)
            else:
                raise ValueError(f"unknown option --{name}")
        except ValueError as error:
            raise ValueError(f"--{name} {value}: {error}") from None
    if not extents or min(extents) < 1:
        raise ValueError("--mesh is needed, with extents such as 64x8")
    if any([rate <= 0 for rate in rates.values()]):
        raise ValueError("rates are positive")
    if not words:
        raise ValueError("a program is needed")
    return Options(extents, Machine(**rates)), words


def simulate(
    module: ir.Module,
    specs: Sequence[Spec],
    mesh: Mapping[Any, int],
    options: Options,
    results: Sequence[Spec | None] | None = None,
) -> str:
    """What one run of a program takes, as text.

    Args:
      module: the program, as lowered.
      specs: how its operands lie on the program's own mesh.
      mesh: axes of that mesh, with extents that are replaced.
      options: of the command.
      results: how its results are to lie, where the program says so.

    Raises:
      ValueError: if the mesh has another number of axes, or does not divide operands evenly.
    """
    from jitney.compiler import pipeline
    from jitney.compiler.hlo.partition.text import bytes_text
    from jitney.compiler.plan.estimate import estimate

    if len(mesh) != len(options.extents):
        raise ValueError(
            f"simulate: --mesh has {len(options.extents)} extents, the program's mesh the axes "
            f"{', '.join(map(str, mesh))}"
        )
    extents = dict(zip(mesh, options.extents, strict=True))
    program = pipeline.partition(module, specs, extents, results)
    plan = pipeline.plan(pipeline.optimize(program.module))
    found = estimate(plan.steps, options.machine)
    read, written = [sum([t.nbytes for t in types]) for types in (plan.inputs, plan.outputs)]
    axes = ", ".join([f"{name}={n}" for name, n in extents.items()])
    lines = [
        f"{module.name} over {axes}: {math.prod(options.extents)} devices",
        f"  time        {seconds(found.computing + found.sending)}: computing "
        f"{seconds(found.computing)}, sending {seconds(found.sending)}",
        f"  operations  {found.operations:.3g} of a device",
        f"  memory      {bytes_text(read + written + plan.arena_bytes)} of a device: operands "
        f"{bytes_text(read)}, results {bytes_text(written)}, temporary "
        f"{bytes_text(plan.arena_bytes)}",
        f"  sent        {bytes_text(sum([message.bytes for message in found.messages]))} by a "
        "device",
    ]
    if found.messages:
        lines.append(
            f"  {'collective':15} {'along':15} {'part':22} {'times':>8} {'sends':>11} {'time':>9}"
        )
    for message in found.messages:
        along = "+".join([name for name, _ in message.node.axes])
        lines.append(
            f"  {message.node.kind:15} {along:15} {message.node.tensor_type!s:22} "
            f"{message.times:8} {bytes_text(message.bytes):>11} {seconds(message.seconds):>9}"
        )
    if found.loops:
        lines.append(f"  {found.loops} loops of unknown length count as one iteration")
    return "\n".join(lines)
