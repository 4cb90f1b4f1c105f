"""Compiled programs: a plan's kernels and entry as machine code, and how to call it.

Kernels are compiled once per content and shared by all programs of the process; a program's own code
is its entry.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from jitney.compiler.codegen import engine, natives
from jitney.compiler.codegen.driver import DriverWriter
from jitney.compiler.codegen.emit import Emitter
from jitney.compiler.codegen.kernel import KernelWriter, body_cost, content_key
from jitney.compiler.codegen.target import host
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import collapse
from jitney.compiler.plan import ir

class CompiledProgram:
    """Machine code of one program.

    Attributes:
      entry: address of `i32 entry(ptr inputs, ptr outputs, ptr arena)`.
      arena_bytes: memory that one call needs besides inputs and outputs.
      inputs, outputs: types of what it takes and returns.
      timings: seconds that each stage of compilation took.
    """

    def __init__(self, plan: ir.Plan, code: engine.Code, keep_alive: Sequence[Any]) -> None:
        self.plan = plan
        self.entry = code.address("entry")
        self.arena_bytes = plan.arena_bytes
        self.inputs = plan.inputs
        self.outputs = plan.outputs
        self.timings: dict[str, float] = {}
        self.code_bytes = code.size
        self._keep_alive = (code, *keep_alive)
        self.is_long = _is_long(plan.steps)


def _is_long(steps: Sequence[ir.Step]) -> bool:
    """Whether a call may take so long that other Python threads should run meanwhile."""
    for step in steps:
        match step:
            case ir.Launch():
                if body_cost(step.kernel) * step.kernel.points > _LONG:
                    return True
            case ir.Gemm():
                if step.batch * step.m * step.n * step.k > _LONG:
                    return True
            case ir.Host() | ir.Loop():
                return True
            case _:
                if any(_is_long(block) for block in ir.inner(step)):
                    return True
    return False


_LONG = 200_000  # in units of the cost model: some tens of microseconds


# --- kernels ------------------------------------------------------------------------------------


class _Kernels:
    """Machine code of all kernels of the process, by content."""

    def __init__(self) -> None:
        self.addresses: dict[Any, int] = {}
        self.codes: list[engine.Code] = []
        self.lock = threading.RLock()
        self.numbers = itertools.count()

    def compile(self, wanted: dict[Any, Kernel]) -> float:
        """Makes code for the kernels that have none; returns the seconds it took."""
        with self.lock:
            missing = {key: k for key, k in wanted.items() if key not in self.addresses}
            if not missing:
                return 0.0
            text, names = kernels_text(missing)
            code, seconds = engine.compile_text(text)
            self.codes.append(code)
            for key, name in names.items():
                self.addresses[key] = code.address(name)
            return seconds


_kernels = _Kernels()


def kernels_text(kernels: dict[Any, Kernel]) -> tuple[str, dict[Any, str]]:
    """A module with a function for each kernel, and their names."""
    target = host()
    shared = Emitter(target)
    texts: list[str] = []
    names: dict[Any, str] = {}
    for i, (key, kernel) in enumerate(kernels.items()):
        names[key] = f"k{i}"
        texts.append(KernelWriter(kernel, target, names[key], shared).text())
    return "\n".join([*texts, shared.module_text()]), names


def _launches(steps: Sequence[ir.Step]) -> list[ir.Launch]:
    found: list[ir.Launch] = []
    stack = list(reversed(steps))
    while stack:
        step = stack.pop()
        if isinstance(step, ir.Launch):
            found.append(step)
        for block in ir.inner(step):
            stack.extend(reversed(block))
    return found


def _collapsed(plan: ir.Plan) -> dict[Any, Kernel]:
    """Kernels of `plan` by content; launches are given their collapsed kernels."""
    wanted: dict[Any, Kernel] = {}
    for launch in _launches(plan.steps):
        launch.kernel = collapse(launch.kernel)
        wanted.setdefault(content_key(launch.kernel), launch.kernel)
    return wanted


# --- whole programs -------------------------------------------------------------------------------


def _driver_text(plan: ir.Plan, address_of: Callable[[Kernel], int]) -> tuple[str, list[Any]]:
    hosts: list[Any] = []

    def host_id(step: ir.Host) -> int:
        number = natives.register(step)
        hosts.append(natives.Registration(number))
        return number

    writer = DriverWriter(plan, host(), "entry", address_of, host_id, natives.symbol)
    return writer.text(), hosts


def compile_plan(plan: ir.Plan) -> CompiledProgram:
    """Machine code for `plan`."""
    start = time.perf_counter()
    wanted = _collapsed(plan)
    in_llvm = _kernels.compile(wanted)
    addresses = _kernels.addresses
    text, hosts = _driver_text(plan, lambda k: addresses[content_key(k)])
    code, seconds = engine.compile_text(text)
    in_llvm += seconds
    program = CompiledProgram(plan, code, [*plan.keep_alive, *hosts])
    program.timings = {"codegen": time.perf_counter() - start - in_llvm, "llvm": in_llvm}
    return program


def llvm_text(plan: ir.Plan) -> str:
    """The LLVM assembly of the kernels and the entry."""
    text, names = kernels_text(_collapsed(plan))
    driver, _ = _driver_text(plan, lambda k: 0)
    del names
    return f"; kernels\n{text}\n; entry\n{driver}"


def asm_text(plan: ir.Plan) -> str:
    """The machine instructions of the kernels and the entry."""
    text, _ = kernels_text(_collapsed(plan))
    driver, _ = _driver_text(plan, lambda k: 0)
    return engine.assembly(text) + engine.assembly(driver)
