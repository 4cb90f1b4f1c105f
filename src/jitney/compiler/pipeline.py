"""The stages of the compiler in order, each with the IR of its input and output.

`PIPELINE` lists them. Compilation runs the stages one after another, and verifies the IR after each
if checks are enabled. `as_text` prints the IR after a stage of a given name. `docs/architecture.md`
contains the same list; a test compares the two.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.codegen import program
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.passes import (
    carries,
    decompose,
    hoist,
    loop_fission,
    simplify,
    sink_reductions,
    split_complex,
)
from jitney.compiler.hlo.passes.loops import has_loops
from jitney.compiler.hlo.verify import verify
from jitney.compiler.plan import build as planning, ir as plans
from jitney.compiler.plan.text import print_plan
from jitney.compiler.plan.verify import verify_plan
from jitney.compiler.scalar.support import supports
from jitney.core.settings import compile_progress, config
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.compiler.hlo.partition.partitioner import Partitioned
    from jitney.compiler.hlo.sharding_propagation import Spec

CompiledProgram = program.CompiledProgram

TENSOR_IR, STEPS, PLAN = "tensor IR", "steps and kernels", "plan and kernels"
MACHINE_CODE = "machine code"


@record(frozen=True, eq=False)
class Stage:
    """A stage of compilation, from the tensor IR to machine code.

    Attributes:
      name: its name in printed text and documentation.
      takes: the IR of its input, which is the output of the previous stage.
      gives: the IR of its output.
      what: a description of the stage in one line.
      run: the function from input to output.
      is_needed: returns whether the stage could change an input; if not, it is skipped.
      simplifies: whether `simplify` runs again on its output.
    """

    name: str
    takes: str
    gives: str
    what: str
    run: Callable[[Any], Any]
    is_needed: Callable[[Any], bool] = lambda _: True
    simplifies: bool = False


PIPELINE = (
    Stage(
        "simplify", TENSOR_IR, TENSOR_IR, "folds constants, simplifies or removes operations",
        simplify.run,
    ),
    Stage(
        "split_complex", TENSOR_IR, TENSOR_IR,
        "represents complex arrays by their real and imaginary parts",
        split_complex.run, lambda module: split_complex.is_needed(module.region), simplifies=True,
    ),
    Stage(
        "decompose", TENSOR_IR, TENSOR_IR,
        "decomposes sorts, cumulative and arg-reductions into loops and simpler nodes",
        decompose.run, lambda module: decompose.is_needed(module.region), simplifies=True,
    ),
    Stage(
        "carries", TENSOR_IR, TENSOR_IR,
        "drops dead, congruent and constant carries, adds some for values that iterations share",
        carries.run, has_loops,
    ),
    Stage(
        "hoist", TENSOR_IR, TENSOR_IR,
        "hoists products and transposes of loop-invariant matrices out of loops",
        hoist.run, has_loops,
    ),
    Stage(
        "sink_reductions", TENSOR_IR, TENSOR_IR,
        "moves sums over iterations to after the loop", sink_reductions.run, has_loops,
    ),
    Stage(
        "fission", TENSOR_IR, TENSOR_IR,
        "splits loops, so that independent work is done for all iterations at once",
        loop_fission.run, has_loops, simplifies=True,
    ),
    Stage(
        "build_kernels", TENSOR_IR, STEPS,
        "fuses nodes into groups, selects library calls, builds and schedules kernels",
        lambda module: planning.build(module, supports),
    ),
    Stage(
        "strip_mine", STEPS, STEPS, "runs chains of kernels on strips of rows that stay in a cache",
        planning.strip_mine,
    ),
    Stage(
        "schedule", STEPS, STEPS, "orders collectives, overlaps communication and computation",
        planning.schedule,
    ),
    Stage(
        "assign_buffers", STEPS, PLAN, "shares memory among buffers whose live ranges do not overlap",
        planning.assign_buffers,
    ),
    Stage(
        "codegen", PLAN, MACHINE_CODE, "generates LLVM functions for kernels and the entry, links them",
        program.compile_plan,
    ),
)  # fmt: skip


# The last stage on the tensor IR, and the last stage before code generation.
OPTIMIZED, PLANNED = "fission", "assign_buffers"


def _module_text(module: ir.Module) -> str:
    from jitney.compiler.hlo.text import print_module  # compiling does not need it

    return print_module(module)


# The verifiers of the IRs, which run after each stage if checks are enabled, and the printers.
CHECKS: dict[str, Callable[[Any], None]] = {TENSOR_IR: verify, PLAN: verify_plan}
TEXTS: dict[str, Callable[[Any], str]] = {
    TENSOR_IR: _module_text, STEPS: print_plan, PLAN: print_plan,
}  # fmt: skip
# Textual forms between a plan and machine code.
CODE_TEXTS: dict[str, Callable[[plans.Plan], str]] = {
    "llvm": program.llvm_text,
    "asm": program.asm_text,
}
# Further names of points in the pipeline: the input of the first stage, and outputs of stages.
ALIASES = {"stablehlo": "hlo", "mlir": "hlo", "optimized": OPTIMIZED, "kernels": PLANNED}
GROUP = "group"  # the tensor IR before `build_kernels`, with its decisions on fusion as comments
_NAMES = [stage.name for stage in PIPELINE]
_BUILD = _NAMES.index("build_kernels")
STAGES = ("hlo", *_NAMES[:_BUILD], GROUP, *_NAMES[_BUILD:-1], *CODE_TEXTS)


def run(value: Any, *, first: str = PIPELINE[0].name, last: str) -> Any:
    """Runs the stages from `first` to `last`, given by name, on `value` and returns the result."""
    if first == PIPELINE[0].name:
        _check(TENSOR_IR, value)
    for stage in PIPELINE[_NAMES.index(first) : _NAMES.index(last) + 1]:
        value = _apply(stage, value)
    return value


def _apply(stage: Stage, value: Any) -> object:
    if not stage.is_needed(value):
        return value
    compile_progress.enters(stage.name)
    value = stage.run(value)
    _check(stage.gives, value)
    if stage.simplifies:
        value = simplify.run(value)
        _check(stage.gives, value)
    return value


def _check(kind: str, value: object) -> None:
    """Verifies the result of a stage if checks are enabled."""
    if kind in CHECKS and (config.enable_checks.value or os.environ.get("JITNEY_CHECK") == "1"):
        CHECKS[kind](value)


def optimize(module: ir.Module) -> ir.Module:
    """Runs all passes on the tensor IR and returns the resulting program."""
    return run(module, last=OPTIMIZED)


def plan(module: ir.Module) -> plans.Plan:
    """Returns the plan of an optimized program."""
    return run(module, first=_NAMES[_BUILD], last=PLANNED)


def compile_module(module: ir.Module) -> CompiledProgram:
    """Compiles `module`, a lowered program, to machine code."""
    start = time.perf_counter()
    optimized = optimize(module)
    passes = time.perf_counter()
    planned = plan(optimized)
    planned_at = time.perf_counter()
    compiled: CompiledProgram = run(planned, first="codegen", last="codegen")
    compiled.timings = {
        "passes": passes - start,
        "fusion": planned_at - passes,
        **compiled.timings,
    }
    return compiled


def as_text(module: ir.Module, stage: str) -> str:
    """Returns the text of `module` after one of `STAGES`; the stage "hlo" is the lowered program.

    Raises:
      ValueError: if there is no such stage.
    """
    name = ALIASES.get(stage, stage)
    if name == "hlo":
        return _module_text(module)
    if name in CODE_TEXTS:
        return CODE_TEXTS[name](run(module, last=PLANNED))
    if name == GROUP:
        from jitney.compiler.plan.groups import print_groups  # compiling does not need it

        optimized = optimize(module)
        return print_groups(optimized, plan(optimized))
    for candidate in PIPELINE:
        if candidate.name == name and candidate.gives in TEXTS:
            return TEXTS[candidate.gives](run(module, last=name))
    known = ("jaxpr", *STAGES, "optimized", "kernels")
    raise ValueError(f"unknown stage {stage!r}; the stages are {', '.join(known)}")


def partition(
    module: ir.Module,
    in_specs: Sequence[Spec],
    extents: Mapping[Any, int],
    out_specs: Sequence[Spec | None] | None = None,
) -> Partitioned:
    """Returns the simplified program that each device of a mesh runs.

    See `hlo.partition.simplified`.
    """
    from jitney.compiler.hlo.partition import simplified  # only several devices need it

    divided = simplified.partition(module, in_specs, extents, out_specs)
    _check(TENSOR_IR, divided.module)
    return divided


def cost_analysis(module: ir.Module) -> dict[str, float]:
    """Estimates the cost of a call: "flops", and "bytes accessed" by kernels and library calls."""
    from jitney.compiler.plan.analysis import plan_cost

    return plan_cost(run(module, last=PLANNED))


def interpret(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Runs the interpreter of the tensor IR, the reference for compiled code, on `inputs`."""
    from jitney.compiler.hlo import interpret as reference

    return reference.run(module, inputs)
