"""The compiler's stages, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jitney.compiler.hlo import interpret, ir


@dataclass
class CompiledProgram:
    """A program ready to run."""

    module: ir.Module
    timings: dict[str, float] = field(default_factory=dict)
    arena_bytes: int = 0
    code_bytes: int = 0

    @property
    def inputs(self) -> tuple[ir.TensorType, ...]:
        return tuple(p.type for p in self.module.region.parameters)  # type: ignore[misc]

    @property
    def outputs(self) -> tuple[ir.TensorType, ...]:
        return tuple(r.type for r in self.module.region.results)  # type: ignore[misc]

    def call(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Results on contiguous inputs."""
        return interpret.run(self.module, inputs)


def compile_module(module: ir.Module) -> CompiledProgram:
    """Machine code for `module`."""
    return CompiledProgram(module)


def as_text(module: ir.Module, stage: str) -> str:
    """`module` at a stage, as text."""
    return str(module)


def cost_analysis(module: ir.Module) -> dict[str, float]:
    """Estimates of work."""
    return {}
