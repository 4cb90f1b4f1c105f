"""Compiles plans to programs: the machine code of their kernels and entry, and its symbols.

Kernels with equal content are compiled once and shared by all programs of the process, as are the
functions that they call (`outlined_functions`). Only the entry is specific to one program.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from jitney.compiler import library
from jitney.compiler.codegen import outlined_functions, symbols
from jitney.compiler.codegen.driver import DriverWriter, PythonCall
from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_costs import body_cost
from jitney.compiler.codegen.kernel_key import ANY_RANGE, Range, content_key, range_of
from jitney.compiler.codegen.linking import CompiledProgram, Links
from jitney.compiler.codegen.marked import Marks
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.llvm import engine
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.outlined import Outlined
from jitney.compiler.llvm.target import host
from jitney.compiler.plan import ir
from jitney.compiler.plan.aliasing import input_output_alias
from jitney.core.settings import caches
from jitney.core.util import forking
from jitney.core.util.thresholds import threshold

K = TypeVar("K")


def _is_long(steps: Sequence[ir.Step]) -> bool:
    """Returns whether a call can take so long that it should release the GIL."""
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
    """The machine code of all kernels in the process, by content.

    Programs keep alive the code that they call. The most recently used code is also kept alive, for
    use by later programs. The code of a module takes most of a megabyte, nearly all of which is
    overhead of LLVM.
    """

    def __init__(self) -> None:
        self.places: dict[Any, tuple[weakref.ref[engine.Code], str]] = {}
        self.recent: OrderedDict[int, engine.Code] = OrderedDict()
        self.alive_at_last_count = 0

    def find(self, wanted: Mapping[K, object]) -> dict[K, tuple[engine.Code, str]]:
        """Returns the code, and the name in it, of each kernel in `wanted` that is compiled."""
        compiled: dict[K, tuple[engine.Code, str]] = {}
        for key in wanted:
            reference, name = self.places.get(key, (None, ""))
            code = reference() if reference is not None else None
            if code is not None:
                compiled[key] = code, name
                self._keep(code)
        return compiled

    def enter(self, code: engine.Code, names: dict[Any, str]) -> None:
        """Registers the kernels in `code`, by their names."""
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
        """Empties the cache.

        Programs keep the kernels that they use alive.
        """
        with forking.kernels:
            self.places.clear()
            self.recent.clear()


# The number of code modules that are kept although no program uses them.
MAX_RECENT = threshold(128, small=4)

_kernels = _Kernels()


caches.register(
    "kernels", "content except for the outermost size, optimization level", __name__,
    entries=lambda: len(_kernels.places), clear=lambda: _kernels.clear(),
)  # fmt: skip


# The range for which the code of a kernel is valid, its content, and the optimization level.
_Key = tuple[Range, tuple[object, ...], int]


class _Written(NamedTuple):
    """The text of a kernel's module, the name of its function, and the functions that it calls."""

    name: str
    text: str
    outlined: dict[str, Outlined]
    natives: list[str]


def _write(kernels: Mapping[_Key, Kernel], marks: Marks | None = None) -> dict[_Key, _Written]:
    """Returns the code of each kernel, with unique names, and with locations if given `marks`."""
    target = host()
    written: dict[_Key, _Written] = {}
    for i, (key, kernel) in enumerate(kernels.items()):
        kind = KernelWriter if marks is None else marks.writer
        e = Emitter(target)
        writer = kind(kernel, target, f"k{i}", e, key[0])
        text = f"{writer.text()}\n{e.module_text()}"
        written[key] = _Written(f"k{i}", text, e.outlined, writer.natives())
    return written


def _outlined(written: Iterable[_Written]) -> dict[str, Outlined]:
    """Returns the functions of other modules that the kernels `written` call."""
    return {name: function for w in written for name, function in w.outlined.items()}


def divided(sizes: Sequence[int], entry_lines: int, threads: int) -> list[list[int]]:
    """Divides kernels into groups of about equal compile time, each a module for one thread.

    Long programs have more groups than threads, since an interrupt has to wait for the modules that
    are being compiled.

    Args:
      sizes: the number of lines of each kernel's code.
      entry_lines: the number of lines of the program's entry, which is in the module of the first
        group.
      threads: the number of threads.

    Returns:
      The numbers of the kernels in each group; a single group if there is little code.
    """
    lines_in_all = sum(sizes) + entry_lines
    group_count = max(min(threads, lines_in_all // COSTS.module_lines), 1)
    group_count = max(group_count, lines_in_all // COSTS.long_module_lines)
    groups: list[list[int]] = [[] for _ in range(group_count)]
    lines = [entry_lines] + [0] * (group_count - 1)
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        least = lines.index(min(lines))
        groups[least].append(k)
        lines[least] += sizes[k]
    return [groups[0], *[group for group in groups[1:] if group]]


def _launched(steps: Sequence[ir.Step]) -> dict[Kernel, Range]:
    """Returns the kernels that `steps` launch, with the ranges for which they are launched."""
    ranges: dict[Kernel, Range] = {}
    stack = list(reversed(steps))
    while stack:
        step = stack.pop()
        if isinstance(step, ir.Launch):
            if step.kernel not in ranges:
                ranges[step.kernel] = range_of(step.kernel)
        elif isinstance(step, ir.RowStrips):
            ranges |= {launch.kernel: ANY_RANGE for launch in step.launches}
        for block in ir.inner(step):
            stack.extend(reversed(block))
    return ranges


class _KernelSet:
    """The kernels that a plan launches.

    Attributes:
      kernels: one kernel for each key; kernels with equal keys have equal code.
      keys: the key of each kernel.
    """

    def __init__(self, plan: ir.Plan) -> None:
        self.kernels: dict[_Key, Kernel] = {}
        self.keys: dict[Kernel, _Key] = {}
        for kernel, bounds in _launched(plan.steps).items():
            key = bounds, content_key(kernel), plan.optimization_level
            self.keys[kernel] = key
            self.kernels.setdefault(key, kernel)


# --- whole programs -------------------------------------------------------------------------------


def _driver(
    plan: ir.Plan, code_of: Callable[[Kernel], tuple[str, bool]]
) -> tuple[DriverWriter, str]:
    """Returns the writer of a plan's entry, and the text of the entry."""
    writer = DriverWriter(plan, host(), "entry", code_of, symbols.symbol)
    return writer, writer.text()


class _Modules:
    """The modules to compile for a plan, with its entry and its new kernels.

    Attributes:
      own: the new kernels in the module of the entry.
      beside: the new kernels in each other module.
      found: the existing code of each kernel that is not new, and the name of the kernel in it.
      names: the name by which the module of the entry refers to each kernel, and whether the kernel
        is in another module.
    """

    def __init__(self, plan: ir.Plan) -> None:
        self._level = plan.optimization_level
        self._wanted = _KernelSet(plan)
        kernels = self._wanted.kernels
        self.found = _kernels.find(kernels)
        new = {key: kernel for key, kernel in kernels.items() if key not in self.found}
        self._written = _write(new)
        keys = [*self._written]
        sizes = [w.text.count("\n") for w in self._written.values()]
        entry = len(plan.steps) * COSTS.step_lines
        groups = [[keys[k] for k in g] for g in divided(sizes, entry, symbols.threads())]
        self.own, self.beside = groups[0], groups[1:]
        outside = [*self.found, *[key for group in self.beside for key in group]]
        self.names = {key: (f"jitney.kernel.{i}", True) for i, key in enumerate(outside)}
        self.names |= {key: (self._written[key].name, False) for key in self.own}
        self._names_by_id: dict[int, tuple[str, bool]] = {}  # hashing a kernel is slow

    def code_of(self, kernel: Kernel) -> tuple[str, bool]:
        """Returns the name of a kernel's function, and whether it is in another module."""
        name = self._names_by_id.get(id(kernel))
        if name is None:
            name = self._names_by_id[id(kernel)] = self.names[self._wanted.keys[kernel]]
        return name

    def compiled(self, driver: DriverWriter, entry: str) -> tuple[engine.Code, Links]:
        """Compiles all modules, and returns the code of the module of `entry` and its links."""
        functions = outlined_functions.missing(_outlined(self._written.values()), self._level)
        texts = [joined(*self._texts(self.own), entry)]
        texts += [joined(*self._texts(group)) for group in self.beside]
        texts += [function.text for function in functions]
        own, *others = engine.emit(texts, symbols.threads(), self._level)
        for function, emitted in zip(functions, others[len(self.beside) :], strict=True):
            outlined_functions.enter(function, self._level, emitted)
        places = {self.names[key][0]: place for key, place in self.found.items()}
        called = dict.fromkeys([name for w in self._written.values() for name in w.natives])
        for group, emitted in zip(self.beside, others, strict=False):
            code = self._load(emitted, group, {f"jitney.{x}": symbols.symbol(x) for x in called})
            places |= {self.names[key][0]: (code, self._written[key].name) for key in group}
        natives = [*dict.fromkeys([*driver.natives, *called])]
        links = Links(natives, driver.constants, places, *_linked(driver.python_calls))
        return self._load(own, self.own, links.addresses()), links

    def _texts(self, group: Sequence[_Key]) -> list[str]:
        return [self._written[key].text for key in group]

    def _load(
        self, emitted: str | bytes, group: Sequence[_Key], addresses: dict[str, int]
    ) -> engine.Code:
        """Loads a module, registers its kernels, and returns its code."""
        outlined = _outlined([self._written[key] for key in group])
        calls = outlined_functions.codes(outlined, self._level)
        code = engine.load(emitted, {**addresses, **engine.addresses(calls)}, calls)
        if group:
            _kernels.enter(code, {key: self._written[key].name for key in group})
        return code


def compile_plan(plan: ir.Plan) -> CompiledProgram:
    """Compiles the entry and the new kernels of `plan`, and returns the compiled program."""
    start = time.perf_counter()
    with forking.kernels:
        modules = _Modules(plan)
        driver, entry = _driver(plan, modules.code_of)
        written_at = time.perf_counter()
        code, links = modules.compiled(driver, entry)
    # Programs keep the code of all kernels that they call alive, even if the cache evicts it.
    program = CompiledProgram(
        code,
        links,
        plan.arena_bytes,
        plan.inputs,
        plan.outputs,
        _is_long(plan.steps),
        input_output_alias(plan),
        [links, *plan.keep_alive],
    )
    ended = time.perf_counter()
    program.timings = {"codegen": written_at - start, "llvm": ended - written_at}
    return program


def _linked(
    calls: Mapping[str, PythonCall],
) -> tuple[
    dict[str, library.Call], dict[str, library.ProcedureCall], dict[str, symbols.HostFunction]
]:
    """Returns the calls of Python by kind: library functions, procedures, callbacks."""
    of_library: dict[str, library.Call] = {}
    of_procedures: dict[str, library.ProcedureCall] = {}
    of_users: dict[str, symbols.HostFunction] = {}
    for name, called in calls.items():
        if isinstance(called, library.Call):
            of_library[name] = called
            continue
        call = called.call if isinstance(called, ir.Wait) else called
        fn = call.finish if isinstance(called, ir.Wait) else call.fn
        assert fn is not None, "only asynchronous calls have a wait"
        operands, results = [tuple([t for _, t in some]) for some in (call.args, call.results)]
        if isinstance(fn, library.Procedure):
            of_procedures[name] = library.ProcedureCall(fn, operands, results)
        else:
            of_users[name] = symbols.HostFunction(fn, operands, results, call.in_place)
    return of_library, of_procedures, of_users


def joined(*modules: str) -> str:
    """Merges modules into one, in which repeated definitions and declarations occur once."""
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
    """Returns the function's name in the first line of a definition, or in a declaration."""
    return head.partition("@")[2].partition("(")[0]


def llvm_text(plan: ir.Plan, marks: Marks | None = None) -> str:
    """Returns the LLVM IR of the kernels and the entry.

    Args:
      plan: the plan of a program.
      marks: records the node of each instruction of the kernels.
    """
    wanted = _KernelSet(plan)
    written = _write(wanted.kernels, marks)
    _, entry = _driver(plan, lambda k: (written[wanted.keys[k]].name, False))
    texts = [w.text for w in written.values()]
    texts += [entry, *outlined_functions.texts(_outlined(written.values()))]
    return joined(*texts, *([] if marks is None else [marks.module_text()]))


def kernel_names(plan: ir.Plan) -> dict[Kernel, str]:
    """Returns the names of the functions of kernels in `llvm_text` and `asm_text`."""
    wanted = _KernelSet(plan)
    names = {key: f"k{i}" for i, key in enumerate(wanted.kernels)}
    return {kernel: names[key] for kernel, key in wanted.keys.items()}


def asm_text(plan: ir.Plan, marks: Marks | None = None) -> str:
    """Returns the assembly of kernels and entry, with `.loc` directives if `marks` is given."""
    with forking.kernels:
        return engine.assembly(llvm_text(plan, marks), plan.optimization_level)
