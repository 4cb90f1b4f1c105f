"""The tensor IR as text, one node a line.

    module f(p0: float32[3]) {
      %1 = constant 2.0 : float32[]
      %2 = broadcast %1 dims=() : float32[3]
      %3 = mul p0, %2 : float32[3]
      return %3
    }
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jitney.compiler.hlo import ir, walk


def print_module(module: ir.Module) -> str:
    """The whole program."""
    return f"module {module.name}{print_region(module.region, module.ordered)}"


def print_region(region: ir.Region, ordered: tuple[ir.Node, ...] = (), indent: str = "") -> str:
    """A region: its parameters, its nodes, its results."""
    names: dict[ir.Node, str] = {p: f"p{p.index}" for p in region.parameters}
    params = ", ".join(f"{names[p]}: {p.type}" for p in region.parameters)
    lines = [f"({params}) {{"]
    for node in walk.schedule([*region.results, *ordered]):
        if node in names:
            continue
        names[node] = f"%{len(names)}"
        lines.append(f"{indent}  {names[node]} = {_node(node, names, indent + '  ')}")
    lines.append(f"{indent}  return {', '.join(names[r] for r in region.results)}")
    lines.append(f"{indent}}}")
    return "\n".join(lines)


def _node(node: ir.Node, names: dict[ir.Node, str], indent: str) -> str:
    word = node.fn if isinstance(node, ir.Apply) else _snake(type(node).__name__)
    if isinstance(node, ir.Constant):
        operands = _constant(node.value)
    else:
        operands = ", ".join(names[x] for x in walk.operands(node))
    fields = "".join(
        f" {name}={value}"
        for name, value in _attributes(node)
        if not isinstance(value, ir.Region)
    )
    regions = "".join(
        f" {name}={print_region(value, (), indent)}"
        for name, value in _attributes(node)
        if isinstance(value, ir.Region)
    )
    if isinstance(node, ir.Cond):
        regions = "".join(
            f" case{i}={print_region(r, (), indent)}" for i, r in enumerate(node.branches)
        )
    return f"{word} {operands}{fields}{regions} : {_type(node)}".replace("  ", " ", 1)


def _attributes(node: ir.Node) -> list[tuple[str, Any]]:
    """Fields that are not operands."""
    found: list[tuple[str, Any]] = []
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if field.name in ("type", "id") or isinstance(value, ir.Node):
            continue
        if isinstance(node, ir.Apply | ir.Constant):
            continue
        if isinstance(value, tuple) and value and isinstance(value[0], ir.Node | ir.Region):
            continue
        if callable(value) and not isinstance(value, type):
            continue
        if isinstance(value, ir.GatherDims | ir.ScatterDims):
            value = ";".join(
                f"{f.name}={getattr(value, f.name)}" for f in dataclasses.fields(value)
            )
        found.append((field.name, value))
    return found


def _constant(value: np.ndarray) -> str:
    if value.size == 1:
        return repr(value.reshape(-1)[0].item())
    return "{" + np.array2string(value.reshape(-1), separator=", ", threshold=8) + "}"


def _type(node: ir.Node) -> str:
    if isinstance(node.type, tuple):
        return "(" + ", ".join(map(str, node.type)) + ")"
    return str(node.type)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
