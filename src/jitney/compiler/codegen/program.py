"""Compiled programs: a plan's kernels and entry as machine code, and how to call it.

Kernels are compiled once per content and shared by all programs of the process, and so are functions
that they call (`outlined_functions`); a program's own code is its entry.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitney.compiler import library
from jitney.compiler.codegen import outlined_functions, polls, symbols
from jitney.compiler.codegen.driver import DriverWriter, PythonCall
from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import ANY_RANGE, Range, body_cost, content_key, range_of
from jitney.compiler.codegen.linking import CompiledProgram, Links
from jitney.compiler.codegen.loop import LoopWriter, loop_key
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.compiler.llvm import engine
from jitney.compiler.llvm.emit import Emitter, Outlined
from jitney.compiler.llvm.target import host
from jitney.compiler.plan import ir
from jitney.core import caches, forking


def _is_long(steps: Sequence[ir.Step]) -> bool:
    """Whether a call may take so long that other Python threads should run meanwhile."""
    for step in steps:
        match step:
            case ir.Launch():
                if body_cost(step.kernel) * step.kernel.points > COSTS.release_lock_above:
                    return True
            case ir.RowStrips():
                if _is_long(step.launches):
                    return True
            case ir.Gemm():
                if step.batch * step.m * step.n * step.k > COSTS.release_lock_above:
                    return True
            case ir.LibraryCall():
                if step.native is None or step.native.work > COSTS.release_lock_above:
                    return True
            case ir.HostCall() | ir.Wait() | ir.Loop():
                return True
            case _:
                if any(_is_long(block) for block in ir.inner(step)):
                    return True
    return False


# --- kernels ------------------------------------------------------------------------------------


class _Kernels:
    """Machine code of the process's kernels, by content.

    Programs keep the code alive that they call; beside it the code that was used last is kept, for the
    next program to find. A module's code takes most of a megabyte, nearly all of it LLVM's.
    """

    def __init__(self) -> None:
        self.places: dict[Any, tuple[weakref.ref[engine.Code], str]] = {}
        self.recent: OrderedDict[int, engine.Code] = OrderedDict()
        self.alive_at_last_count = 0

    def find(self, wanted: Mapping[Any, object]) -> dict[Any, tuple[engine.Code, str]]:
        """The code, and the name in it, of those of `wanted` that have some."""
        found: dict[Any, tuple[engine.Code, str]] = {}
        for key in wanted:
            reference, name = self.places.get(key, (None, ""))
            code = reference() if reference is not None else None
            if code is not None:
                found[key] = code, name
                self._keep(code)
        return found

    def enter(self, code: engine.Code, names: dict[Any, str]) -> None:
        """Makes the kernels called `names` in `code` known to all programs."""
        reference = weakref.ref(code)
        for key, name in names.items():
            self.places[key] = reference, name
        self._keep(code)
        if len(self.places) > 2 * self.alive_at_last_count + MAX_RECENT:
            self.places = {key: at for key, at in self.places.items() if at[0]() is not None}
            self.alive_at_last_count = len(self.places)

    def _keep(self, code: engine.Code) -> None:
        self.recent[id(code)] = code
        self.recent.move_to_end(id(code))
        if len(self.recent) > MAX_RECENT:
            self.recent.popitem(last=False)

    def clear(self) -> None:
        """Forgets all kernels; programs that use them keep them alive."""
        with forking.kernels:
            self.places.clear()
            self.recent.clear()


MAX_RECENT = 128  # modules of code that are kept though no program needs them

_kernels = _Kernels()


caches.register(
    "kernels", "their content; the outermost extent is an argument", __name__,
    entries=lambda: len(_kernels.places), clear=lambda: _kernels.clear(),
)  # fmt: skip


# The ranges that a kernel's code is for, and its content.
_Key = tuple[Range, tuple[object, ...]]


def kernels_text(
    kernels: dict[_Key, Kernel | LoopKernel],
) -> tuple[str, dict[_Key, str], dict[str, Outlined]]:
    """A module with a function for each kernel, their names, and what they call in other modules."""
    target = host()
    shared = Emitter(target)
    texts: list[str] = []
    names: dict[_Key, str] = {}
    for i, (key, kernel) in enumerate(kernels.items()):
        names[key] = f"k{i}"
        writer: Any = LoopWriter if isinstance(kernel, LoopKernel) else KernelWriter
        texts.append(writer(kernel, target, names[key], shared, key[0]).text())
    return "\n".join([*texts, shared.module_text()]), names, shared.outlined


def _launched(steps: Sequence[ir.Step]) -> dict[Kernel | LoopKernel, Range]:
    """The kernels that `steps` launch, and the ranges that they are launched over."""
    found: dict[Kernel | LoopKernel, Range] = {}
    stack = list(reversed(steps))
    while stack:
        step = stack.pop()
        if isinstance(step, ir.Launch):
            if step.kernel not in found:
                found[step.kernel] = range_of(step.kernel)
        elif isinstance(step, ir.RowStrips):
            found |= {launch.kernel: ANY_RANGE for launch in step.launches}
        for block in ir.inner(step):
            stack.extend(reversed(block))
    return found


class _KernelSet:
    """The kernels that a plan launches.

    Attributes:
      kernels: one of each content, by the key of its content.
      keys: the key of each.
    """

    def __init__(self, plan: ir.Plan) -> None:
        self.kernels: dict[_Key, Kernel | LoopKernel] = {}
        self.keys: dict[Kernel | LoopKernel, _Key] = {}
        for kernel, bounds in _launched(plan.steps).items():
            is_loop = isinstance(kernel, LoopKernel)
            key = bounds, loop_key(kernel) if is_loop else content_key(kernel)
            self.keys[kernel] = key
            self.kernels.setdefault(key, kernel)


# --- whole programs -------------------------------------------------------------------------------


def _driver(
    plan: ir.Plan, code_of: Callable[[Kernel | LoopKernel], tuple[str, bool]]
) -> tuple[DriverWriter, str]:
    """The writer of a plan's entry, and its text."""
    writer = DriverWriter(plan, host(), "entry", code_of, symbols.symbol)
    return writer, writer.text()


def compile_plan(plan: ir.Plan) -> CompiledProgram:
    """Machine code for `plan`: one module with its entry and the kernels that are new."""
    start = time.perf_counter()
    with forking.kernels:
        wanted = _KernelSet(plan)
        found = _kernels.find(wanted.kernels)
        new = {key: kernel for key, kernel in wanted.kernels.items() if key not in found}
        text, names, outlined = kernels_text(new) if new else ("", {}, {})
        others = {key: f"jitney.kernel.{i}" for i, key in enumerate(found)}

        known: dict[int, tuple[str, bool]] = {}  # by id: hashing a kernel goes over all of it

        def code_of(kernel: Kernel | LoopKernel) -> tuple[str, bool]:
            code = known.get(id(kernel))
            if code is None:
                key = wanted.keys[kernel]
                code = (names[key], False) if key in names else (others[key], True)
                known[id(kernel)] = code
            return code

        driver, entry = _driver(plan, code_of)
        kernels = {others[key]: place for key, place in found.items()}
        called = [*driver.natives, *([polls.POLL] if any(map(polls.looks, new.values())) else [])]
        links = Links(
            list(dict.fromkeys(called)), driver.constants, kernels, *_linked(driver.python_calls)
        )
        start_of_llvm = time.perf_counter()
        calls = outlined_functions.codes({**outlined, **driver.e.outlined})
        addresses = {**links.addresses(), **engine.addresses(calls)}
        code, _ = engine.compile_text(joined(text, entry), addresses, calls)
        seconds = time.perf_counter() - start_of_llvm
        if names:
            _kernels.enter(code, names)
    # Programs hold the code of all kernels that they call, whatever becomes of the cache.
    program = CompiledProgram(
        code,
        links,
        plan.arena_bytes,
        plan.inputs,
        plan.outputs,
        _is_long(plan.steps),
        [links, *plan.keep_alive],
    )
    program.timings = {"codegen": time.perf_counter() - start - seconds, "llvm": seconds}
    return program


def _linked(
    calls: Mapping[str, PythonCall],
) -> tuple[
    dict[str, library.Call], dict[str, library.ProcedureCall], dict[str, symbols.HostFunction]
]:
    """Calls of Python by kind: of library functions, of procedures, of users' functions."""
    of_library: dict[str, library.Call] = {}
    of_procedures: dict[str, library.ProcedureCall] = {}
    of_users: dict[str, symbols.HostFunction] = {}
    for name, called in calls.items():
        if isinstance(called, library.Call):
            of_library[name] = called
            continue
        call = called.call if isinstance(called, ir.Wait) else called
        fn = call.finish if isinstance(called, ir.Wait) else call.fn
        assert fn is not None, "a call that is waited for"
        operands, results = [tuple([t for _, t in some]) for some in (call.args, call.results)]
        if isinstance(fn, library.Procedure):
            of_procedures[name] = library.ProcedureCall(fn, operands, results)
        else:
            of_users[name] = symbols.HostFunction(fn, operands, results, call.in_place)
    return of_library, of_procedures, of_users


def joined(*modules: str) -> str:
    """Modules as one: what several define or declare stands once."""
    lines: list[str] = []
    seen: set[str] = set()
    declared: list[tuple[int, str]] = []
    defined: set[str] = set()
    skips = False
    for line in [line for text in modules for line in text.splitlines()]:
        if line.startswith("define "):
            name = _called(line)
            skips = name in defined
            defined.add(name)
        elif line.startswith(("declare ", "!", "@")):
            if line in seen:
                continue
            seen.add(line)
            if line.startswith("declare "):
                declared.append((len(lines), _called(line)))
        if not skips:
            lines.append(line)
        skips = skips and line != "}"
    for at, name in reversed(declared):
        if name in defined:
            del lines[at]
    return "\n".join(lines)


def _called(head: str) -> str:
    """The name in the first line of a function, or in its declaration."""
    return head[head.index("@") + 1 : head.index("(", head.index("@"))]


def llvm_text(plan: ir.Plan) -> str:
    """The LLVM assembly of the kernels and the entry."""
    wanted = _KernelSet(plan)
    text, names, outlined = kernels_text(wanted.kernels)
    _, entry = _driver(plan, lambda k: (names[wanted.keys[k]], False))
    return joined(text, entry, *outlined_functions.texts(outlined))


def asm_text(plan: ir.Plan) -> str:
    """The machine instructions of the kernels and the entry."""
    with forking.kernels:
        return engine.assembly(llvm_text(plan))
