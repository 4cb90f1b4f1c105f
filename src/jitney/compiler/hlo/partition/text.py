"""Prints partitioned programs: shardings of operands and results, and the cost of collectives."""

from __future__ import annotations

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.partition.layout import spec_text
from jitney.compiler.hlo.partition.partitioner import Partitioned
from jitney.compiler.hlo.partition.traffic import collectives_of, sent
from jitney.compiler.hlo.text import print_module

# The names of the operations in XLA's texts, which programs search for.
_NAMES: dict[str, str] = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "permute": "collective-permute",
    "broadcast": "collective-broadcast",
}


def print_partitioned(program: Partitioned) -> str:
    """Returns the text of the program of one device.

    Collectives are followed by their names in XLA and the bytes that they send.
    """
    mesh = program.mesh
    axes = ", ".join([f"{name}={n}" for name, n in mesh.extents.items()])
    region = program.module.region
    lines = [f"over {axes}: {mesh.size} devices"]
    lines += [
        f"  p{p.index}: {p.tensor_type} is a shard {spec_text(spec)}"
        for p, spec in zip(region.parameters, program.in_specs, strict=True)
    ]
    lines += [
        f"  result {k}: {r.tensor_type} is a shard {spec_text(spec)}"
        for k, (r, spec) in enumerate(zip(region.results, program.out_specs, strict=True))
    ]
    lines.append(print_module(program.module, note=_note))
    collectives = [node for node in collectives_of(region) if node.args]
    total = bytes_text(sum(map(sent, collectives)))
    plural = "" if len(collectives) == 1 else "s"
    lines.append(
        f"{len(collectives)} collective{plural}, each device sends {total} (loops counted once)"
    )
    return "\n".join(lines)


def _note(node: ir.Node) -> str:
    if isinstance(node, ir.Collective) and node.args:
        return f"  # {_NAMES.get(node.kind, node.kind)}, sends {bytes_text(sent(node))}"
    return ""


def bytes_text(n: float) -> str:
    """Returns text such as `96 B`, `1.50 kB` or `24.0 MB`, with up to three digits."""
    if round(n) < 1000:
        return f"{n:.0f} B"
    n = float(f"{n:.3g}")  # first, since 9.999 is printed as 10.0
    units = iter(("kB", "MB", "GB", "TB", "PB"))
    unit, n = next(units), n / 1000
    while n >= 1000:
        unit, n = next(units), n / 1000
    return f"{n:.{2 if n < 10 else 1 if n < 100 else 0}f} {unit}"
