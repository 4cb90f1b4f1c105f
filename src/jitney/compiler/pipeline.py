"""The compiler's stages in order, each with its input and output IR.

`PIPELINE` is the list. Compilation runs through it, and verifies the IR after each stage if checks
are on; `as_text` prints the IR after the stage of a given name. `docs/architecture.md` shows the
list, and a test compares both.
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
    """One step on the way from the tensor IR to machine code.

    Attributes:
      name: its name in texts and documents.
      takes: the IR of its input, which is the output of the stage before.
      gives: the IR of its output.
      what: what it does, in a line.
      run: input -> output.
      is_needed: whether it would change an input at all; if not, it is skipped.
      simplifies: whether its output is simplified again.
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
        "simplify", TENSOR_IR, TENSOR_IR, "folds constants, removes operations without effect",
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
        "removes dead, congruent and constant carries, adds values that two iterations compute",
        carries.run, has_loops,
    ),
    Stage(
        "hoist", TENSOR_IR, TENSOR_IR,
        "moves products with loop-invariant matrices, and their transposes, before loops",
        hoist.run, has_loops,
    ),
    Stage(
        "sink_reductions", TENSOR_IR, TENSOR_IR,
        "moves sums over iterations after loops", sink_reductions.run, has_loops,
    ),
    Stage(
        "fission", TENSOR_IR, TENSOR_IR,
        "splits loops, to compute what is known for all iterations at once",
        loop_fission.run, has_loops, simplifies=True,
    ),
    Stage(
        "build_kernels", TENSOR_IR, STEPS,
        "fuses nodes into groups, selects library calls, builds and schedules kernels",
        lambda module: planning.build(module, supports),
    ),
    Stage(
        "strip_mine", STEPS, STEPS, "runs chains of kernels strip by strip of rows in a cache",
        planning.strip_mine,
    ),
    Stage(
        "schedule", STEPS, STEPS, "orders collectives, overlaps communication and computation",
        planning.schedule,
    ),
    Stage(
        "assign_buffers", STEPS, PLAN, "shares memory among buffers whose live ranges differ",
        planning.assign_buffers,
    ),
    Stage(
        "codegen", PLAN, MACHINE_CODE, "LLVM functions for kernels, one entry; linking",
        program.compile_plan,
    ),
)  # fmt: skip


# The last stage on the tensor IR, and the last before code generation.
OPTIMIZED, PLANNED = "fission", "assign_buffers"


def _module_text(module: ir.Module) -> str:
    from jitney.compiler.hlo.text import print_module  # compiling does not need it

    return print_module(module)


# Verifiers of the IRs, run after each stage that produces them if checks are on; and printers.
CHECKS: dict[str, Callable[[Any], None]] = {TENSOR_IR: verify, PLAN: verify_plan}
TEXTS: dict[str, Callable[[Any], str]] = {
    TENSOR_IR: _module_text, STEPS: print_plan, PLAN: print_plan,
}  # fmt: skip
# Texts between a plan and machine code.
CODE_TEXTS: dict[str, Callable[[plans.Plan], str]] = {
    "llvm": program.llvm_text,
    "asm": program.asm_text,
}
# Other names of points in the list: the first stage's input, and the named stages' outputs.
ALIASES = {"stablehlo": "hlo", "mlir": "hlo", "optimized": OPTIMIZED, "kernels": PLANNED}
GROUP = "group"  # the tensor IR before kernels are built, with what is fused or stored, and why
_NAMES = [stage.name for stage in PIPELINE]
_BUILD = _NAMES.index("build_kernels")
STAGES = ("hlo", *_NAMES[:_BUILD], GROUP, *_NAMES[_BUILD:-1], *CODE_TEXTS)


def run(value: Any, *, first: str = PIPELINE[0].name, last: str) -> Any:
    """Runs the stages from `first` to `last`, given by name, on `value`, and returns the result."""
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
    """Verifies the result of a stage if checks are on."""
    if kind in CHECKS and (config.enable_checks.value or os.environ.get("JITNEY_CHECK") == "1"):
        CHECKS[kind](value)


def optimize(module: ir.Module) -> ir.Module:
    """Returns the program after all passes on the tensor IR."""
    return run(module, last=OPTIMIZED)


def plan(module: ir.Module) -> plans.Plan:
    """Returns the plan of an optimized program."""
    return run(module, first=_NAMES[_BUILD], last=PLANNED)


def compile_module(module: ir.Module) -> CompiledProgram:
    """Compiles `module`, as lowered, to machine code."""
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
    """Returns `module` as text after one of `STAGES`, or at "hlo", as lowered.

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
    """Returns the results of the interpreter of the tensor IR, the reference for compiled code."""
    from jitney.compiler.hlo import interpret as reference

    return reference.run(module, inputs)
