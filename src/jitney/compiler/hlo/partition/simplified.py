"""Partitioning of simplified programs, whose result is simplified again.

Programs over several processes are partitioned at the first run in each process, even if their
machine code is found on disk. Therefore, this module does not import later stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.partition import panels, partitioner
from jitney.compiler.hlo.passes import simplify
from jitney.core.util.record import replace

if TYPE_CHECKING:
    from jitney.compiler.hlo.sharding_propagation import Spec


def partition(
    module: ir.Module,
    in_specs: Sequence[Spec],
    extents: Mapping[Any, int],
    out_specs: Sequence[Spec | None] | None = None,
) -> partitioner.Partitioned:
    """Returns the program that each device of a mesh runs, simplified; see `partitioner.partition`."""
    whole = simplify.run(module, simplify.rules_without("drop_sharding_constraint"))
    divided = partitioner.partition(whole, in_specs, extents, out_specs)
    local = simplify.run(divided.module)
    return replace(divided, module=replace(local, region=panels.in_panels(local.region)))
