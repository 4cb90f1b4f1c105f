"""The compiler's stages: tensor IR -> simplified -> plan with kernels -> LLVM -> machine code."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import numpy as np

from jitney.compiler.codegen import program
from jitney.compiler.hlo import ir, verify
from jitney.compiler.hlo.passes import decompose, loops, simplify, split_complex
from jitney.compiler.plan import build as planning, ir as plans
from jitney.compiler.plan.text import print_plan
from jitney.compiler.plan.verify import verify_plan
from jitney.compiler.scalar.support import supports
from jitney.core import config

CompiledProgram = program.CompiledProgram


def optimize(module: ir.Module) -> ir.Module:
    """The program after all passes on the tensor IR."""
    if _checks():
        verify.verify(module)
    module = _after(simplify.run, module)
    if split_complex.is_needed(module.region):
        module = _after(simplify.run, _after(split_complex.run, module))
    if decompose.is_needed(module.region):
        module = _after(simplify.run, _after(decompose.run, module))
    if loops.has_loops(module):
        module = _after(simplify.run, _after(loops.run, module))
    return module


def _after(run: Callable[[ir.Module], ir.Module], module: ir.Module) -> ir.Module:
    """What the pass `run` makes of `module`."""
    module = run(module)
    if _checks():
        verify.verify(module)
    return module


def plan(module: ir.Module) -> plans.Plan:
    """The plan of an optimized program."""
    planned = planning.build(module, supports)
    if _checks():
        verify_plan(planned)
    return planned


def _checks() -> bool:
    """Whether the result of each stage is verified."""
    return bool(config.enable_checks.value) or os.environ.get("JITNEY_CHECK") == "1"


def compile_module(module: ir.Module) -> CompiledProgram:
    """Machine code for `module`, as lowered."""
    start = time.perf_counter()
    optimized = optimize(module)
    passes = time.perf_counter()
    planned = plan(optimized)
    planned_at = time.perf_counter()
    compiled = program.compile_plan(planned)
    compiled.timings = {
        "passes": passes - start,
        "fusion": planned_at - passes,
        **compiled.timings,
    }
    return compiled


STAGES = ("hlo", "optimized", "kernels", "llvm", "asm")


def as_text(module: ir.Module, stage: str) -> str:
    """`module` at one of `STAGES`, as text.

    Raises:
      ValueError: if there is no such stage.
    """
    from jitney.compiler.hlo.text import print_module

    if stage in ("hlo", "stablehlo", "mlir"):
        return print_module(module)
    optimized = optimize(module)
    if stage == "optimized":
        return print_module(optimized)
    planned = plan(optimized)
    if stage == "kernels":
        return print_plan(planned)
    if stage == "llvm":
        return program.llvm_text(planned)
    if stage == "asm":
        return program.asm_text(planned)
    raise ValueError(f"unknown stage {stage!r}; there are {', '.join(('jaxpr', *STAGES))}")


def cost_analysis(module: ir.Module) -> dict[str, float]:
    """Estimates of one call: "flops", and "bytes accessed" by kernels and library calls."""
    from jitney.compiler.plan.cost import plan_cost

    return plan_cost(plan(optimize(module)))


def interpret(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of the program by the interpreter of the tensor IR: the reference for compiled code."""
    from jitney.compiler.hlo import interpret as reference

    return reference.run(module, inputs)
