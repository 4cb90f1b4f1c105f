"""`jitney simulate`: estimates the cost of programs on a mesh of any size, without its devices.

The command runs a Python program. Each function that the program lowers (`jax.jit(f).lower(...)`)
for arguments with shardings in their types is partitioned and planned for a mesh of the given
sizes, which are those of the axes of the program's mesh in order. Times are estimated with an
alpha-beta model of the links and the rate at which a device computes. The lowered functions are not
run.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.cli import run, usage
from jitney.core.util.record import record
from jitney.inspection.quantities import seconds

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.compiler.hlo.sharding_propagation import Spec
    from jitney.compiler.plan.estimate import Machine

USAGE = """\
usage: jitney simulate program.py --mesh 64x8 [option ...] [--] [argument ...]

Runs program.py and estimates the cost of the programs that it lowers for arguments on a mesh, as if
the mesh had the given sizes, here 64 by 8 devices.

  --mesh EXTENTS        sizes of the axes of the program's mesh, in order
  --latency SECONDS     latency of a message between two devices
  --bandwidth BYTES     bytes per second that a device sends
  --operations NUMBER   floating-point operations per second of a device
  --memory BYTES        bytes per second that a device reads and writes
"""


@record(frozen=True)
class Options:
    """The options of the command."""

    extents: tuple[int, ...]
    machine: Machine


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    words = list(arguments)
    if not words or words[0] in ("-h", "--help"):
        return usage.show(USAGE, words)
    try:
        options, program = _parse(words)
    except ValueError as wrong:
        return usage.refuse(USAGE, wrong)
    from jitney.runtime.execution import placements

    reported: list[str] = []

    def report(
        module: ir.Module,
        specs: Sequence[Spec],
        mesh: Mapping[Any, int],
        results: Sequence[Spec | None],
    ) -> None:
        print(simulate(module, specs, mesh, options, results))
        reported.append(module.name)

    placements.observers.append(report)
    try:
        ended = run.run_to_end(program)
    finally:
        placements.observers.remove(report)
    if reported or not (ended.has_run and ended.is_well):
        return ended.leave()
    print(
        f"jitney simulate: {usage.title(program)} lowered nothing for arguments on a mesh "
        "(jax.jit(f).lower(x), where x or its type has a NamedSharding)",
        file=sys.stderr,
    )
    return 1


def _parse(words: Sequence[str]) -> tuple[Options, list[str]]:
    """Parses the options, and the program with its arguments.

    Raises:
      ValueError: if an argument is invalid.
    """
    from jitney.compiler.plan.estimate import Machine

    values, program = usage.around_program(USAGE, words)
    if "mesh" not in values:
        raise ValueError("--mesh is needed, with sizes such as 64x8")
    extents = tuple([int(_number("mesh", n, int)) for n in values.pop("mesh").split("x")])
    rates = {name: _number(name, value, float) for name, value in values.items()}
    if not program:
        raise ValueError("a program is needed")
    return Options(extents, Machine(**rates)), program


def _number(option: str, text: str, kind: Callable[[str], float]) -> float:
    """Parses a positive number, which is the value of an option or a part of it."""
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if not number > 0:
        raise ValueError(f"--{option} takes positive numbers, but got {text!r}")
    return number


def simulate(
    module: ir.Module,
    specs: Sequence[Spec],
    mesh: Mapping[Any, int],
    options: Options,
    results: Sequence[Spec | None] | None = None,
) -> str:
    """Reports the estimated cost of one run of a program.

    Args:
      module: the program as lowered.
      specs: the shardings of its operands on the program's own mesh.
      mesh: the axes of that mesh; `options` replace their sizes.
      options: the options of the command.
      results: the shardings of its results, None for results that the program does not constrain.

    Raises:
      ValueError: if the mesh has another number of axes, or does not divide operands evenly.
    """
    from jitney.compiler import pipeline
    from jitney.compiler.hlo.partition.text import bytes_text
    from jitney.compiler.plan.estimate import estimate

    if len(mesh) != len(options.extents):
        raise ValueError(
            f"simulate: --mesh has {len(options.extents)} sizes, but the program's mesh has the "
            f"axes {', '.join(map(str, mesh))}"
        )
    extents = dict(zip(mesh, options.extents, strict=True))
    program = pipeline.partition(module, specs, extents, results)
    plan = pipeline.plan(pipeline.optimize(program.module))
    cost = estimate(plan.steps, options.machine)
    read, written = [sum([t.nbytes for t in types]) for types in (plan.inputs, plan.outputs)]
    axes = ", ".join([f"{name}={n}" for name, n in extents.items()])
    lines = [
        f"{module.name} over {axes}: {math.prod(options.extents)} devices",
        f"  time        {seconds(cost.computing + cost.sending)}: computing "
        f"{seconds(cost.computing)}, sending {seconds(cost.sending)}",
        f"  operations  {cost.operations:.3g} per device",
        f"  memory      {bytes_text(read + written + plan.arena_bytes)} per device: operands "
        f"{bytes_text(read)}, results {bytes_text(written)}, temporary "
        f"{bytes_text(plan.arena_bytes)}",
        f"  sent        {bytes_text(sum([message.bytes for message in cost.messages]))} per device",
    ]
    if cost.messages:
        lines.append(
            f"  {'collective':15} {'along':15} {'part':22} {'times':>8} {'sends':>11} {'time':>9}"
        )
    for message in cost.messages:
        along = "+".join([name for name, _ in message.node.axes])
        lines.append(
            f"  {message.node.kind:15} {along:15} {message.node.tensor_type!s:22} "
            f"{message.times:8} {bytes_text(message.bytes):>11} {seconds(message.seconds):>9}"
        )
    if cost.loops:
        lines.append(f"  {cost.loops} loops with unknown trip counts are counted as one iteration")
    return "\n".join(lines)
