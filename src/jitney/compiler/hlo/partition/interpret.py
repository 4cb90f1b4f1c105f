"""An interpreter of partitioned programs: runs all devices of the mesh in one process.

Its results are the reference for the runtimes of partitioned programs. Each node is computed for
all devices before the next one, so a collective can access the operands of all devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.hlo import interpret, ir
from jitney.compiler.hlo.partition.layout import Mesh, join, split
from jitney.compiler.hlo.partition.partitioner import Partitioned
from jitney.compiler.hlo.traversal import roots, topological_order
from jitney.compiler.reference.collective import collective
from jitney.core.util import float_errors


def run(program: Partitioned, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the complete results of a partitioned program on complete operands.

    Raises:
      AssertionError: if replicas of a shard differ.
    """
    mesh = program.mesh
    parts = [split(x, spec, mesh) for x, spec in zip(inputs, program.in_specs, strict=True)]
    with float_errors.ignored():
        results = _region(program.module.region, parts, mesh)
    return [join(xs, spec, mesh) for xs, spec in zip(results, program.out_specs, strict=True)]


def _region(region: ir.Region, inputs: Sequence[list[Any]], mesh: Mesh) -> list[list[np.ndarray]]:
    """Returns the results of a region for each device, from operands for each device."""
    envs: list[interpret.Env] = [{} for _ in range(mesh.size)]
    for p, values in zip(region.parameters, inputs, strict=True):
        for env, value in zip(envs, values, strict=True):
            env[p] = value
    for node in topological_order(roots(region)):
        if node in envs[0]:
            continue
        for env, value in zip(envs, _evaluate(node, envs, mesh), strict=True):
            env[node] = value
    return [[np.asarray(env[result]) for env in envs] for result in region.results]


def _evaluate(
    node: ir.Node, envs: Sequence[interpret.Env], mesh: Mesh
) -> Sequence[np.ndarray | Sequence[np.ndarray]]:
    """Returns the value of `node` for each device."""
    match node:
        case ir.Collective():
            return _collective(node, envs, mesh)
        case ir.While():
            carry = [[env[x] for env in envs] for x in node.init]
            while _same(_region(node.cond, carry, mesh)[0]):
                carry = _region(node.body, carry, mesh)
            return [list(values) for values in zip(*carry, strict=True)]
        case ir.Cond():
            index = _same([env[node.index] for env in envs])
            case_ = node.cases[min(max(int(index), 0), len(node.cases) - 1)]
            results = _region(case_, [[env[x] for env in envs] for x in node.args], mesh)
            return [list(values) for values in zip(*results, strict=True)]
        case _:
            return [interpret.evaluate(node, env) for env in envs]


def _same(values: Sequence[Any]) -> np.ndarray:
    """Returns the value that all devices share.

    Control flow must be the same on all devices, or collectives would not match.
    """
    assert all([value == values[0] for value in values]), f"devices disagree: {values}"
    return values[0]


def _collective(node: ir.Collective, envs: Sequence[interpret.Env], mesh: Mesh) -> list[np.ndarray]:
    names = [name for name, _ in node.axes]
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for device, place in enumerate(mesh.devices()):
        others = tuple([k for name, k in place.items() if name not in names])
        groups.setdefault(others, []).append((mesh.number(place, names), device))
    values: list[Any] = [None] * mesh.size
    for members in groups.values():
        devices = [device for _, device in sorted(members)]
        operands: list[Any] = [envs[d][node.args[0]] if node.args else None for d in devices]
        for d, value in zip(
            devices, collective(node.kind, operands, **dict(node.params)), strict=True
        ):
            values[d] = value
    return values
