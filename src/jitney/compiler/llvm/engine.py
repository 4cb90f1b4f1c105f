"""Compiles the text of LLVM modules to machine code. This is the only module that imports llvmlite.

The code of modules is vectorized explicitly. Of LLVM's middle end, only those passes run on which
code generation relies: helpers are inlined, and stack slots are promoted to registers.

LLVM emits an object file, which the runtime's loader maps into memory (`set_loader`). This takes a
few pages, whereas one of LLVM's execution engines takes most of a megabyte, and the file can be
stored. Without a loader, an execution engine is used.

Several threads can compile modules concurrently, each with a separate LLVM context and target
machine. llvmlite has a lock that allows only one thread at a time to call LLVM. The function that
takes nearly all of the time is therefore called without this lock.

LLVM's objects are used and closed in code that signals do not interrupt (`core.util.shielded`). A
module is closed before its context. No object is left to the garbage collector, which does not
guarantee any order.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from jitney.compiler.llvm.target import Target, host
from jitney.core.settings import caches, compile_progress
from jitney.core.util import forking, shielded

if TYPE_CHECKING:
    import llvmlite.binding as llvm


class Image(Protocol):
    """Machine code in memory."""

    functions: dict[str, int]

    @property
    def size(self) -> int: ...


# The optimization level, 0 to 3, of LLVM's instruction selection, scheduling and register
# allocation. Levels 1 to 3 take equally long. Level 0 takes a third of that time, but its code
# keeps values in memory.
DEFAULT_LEVEL = 2

Loader = Callable[[bytes, Mapping[str, int]], Image]

_loader: Loader | None = None


def set_loader(loader: Loader) -> None:
    """Sets the loader of object files, which receives the addresses of the symbols they need."""
    global _loader
    _loader = loader


class _Library:
    """LLVM, initialized once, with its target machines."""

    def __init__(self, target: Target) -> None:
        # Imported here: loading LLVM takes tens of milliseconds, and importing jitney must not.
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if not target.is_x86:
            llvm.initialize_native_asmparser()  # clocks are read by inline assembly
        self.llvm = llvm
        self.target = target
        self.triple = llvm.Target.from_triple(target.triple)
        machine = self._new_machine("pic", "small")
        self.layout = str(machine.target_data)
        # The idle target machines, by level.
        self._machines: defaultdict[int, list[llvm.TargetMachine]] = defaultdict(list)
        self._machines[DEFAULT_LEVEL].append(machine)
        self._emit = _unlocked_emit()

    def _new_machine(
        self, reloc: str, codemodel: str, level: int = DEFAULT_LEVEL
    ) -> llvm.TargetMachine:
        return self.triple.create_target_machine(
            cpu=self.target.cpu,
            features=self.target.feature_text,
            opt=level,
            reloc=reloc,
            codemodel=codemodel,
        )

    def object(self, text: str, level: int = DEFAULT_LEVEL) -> bytes:
        """Compiles a module to an object file; several threads can call this concurrently."""
        machines = self._machines[level]
        try:
            machine = machines.pop()
        except IndexError:
            machine = self._new_machine("pic", "small", level)
        try:
            with (
                self.llvm.create_context() as context,
                self.module(text, machine, context) as module,
            ):
                return self._emit(machine, module)
        finally:
            machines.append(machine)

    def assembly(self, text: str, level: int) -> str:
        """Returns the assembly of a module."""
        with (
            self._new_machine("pic", "small", level) as machine,
            self.llvm.create_context() as context,
            self.module(text, machine, context) as module,
        ):
            return machine.emit_assembly(module)

    def module(
        self, text: str, machine: llvm.TargetMachine, context: llvm.ContextRef | None
    ) -> llvm.ModuleRef:
        """Parses a module, inlines helpers, and promotes stack slots to registers.

        If this raises an exception, the module is closed, so that nothing is left in `context`.
        """
        module = self.llvm.parse_assembly(text, context)
        try:
            module.triple = self.target.triple
            module.data_layout = self.layout
            # A pass builder caches analyses of a module, so each module has a separate one.
            options = self.llvm.create_pipeline_tuning_options(speed_level=1)
            with (
                options,
                self.llvm.create_new_module_pass_manager() as passes,
                self.llvm.create_pass_builder(machine, options) as builder,
            ):
                passes.add_always_inliner_pass()
                passes.add_sroa_pass()
                passes.run(module, builder)
        except BaseException:
            module.close()
            raise
        return module

    def engine(self, text: str, known: Mapping[str, int]) -> _EngineImage:
        """Loads a module by an LLVM execution engine, which owns a separate target machine."""
        while _abandoned:
            _abandoned.pop().close()
        with contextlib.ExitStack() as owned:  # until the engine owns them
            machine = owned.enter_context(self._new_machine("default", "jitdefault"))
            module = owned.enter_context(
                self.module(text, machine, None)
            )  # in LLVM's global context
            engine = self.llvm.create_mcjit_compiler(module, machine)
            owned.pop_all()
        for symbol in (*module.functions, *module.global_variables):
            if symbol.name in known:
                engine.add_global_mapping(symbol, known[symbol.name])
        sizes: list[int] = []
        engine.set_object_cache(lambda _, code: sizes.append(len(code)))
        engine.finalize_object()
        defined = [f.name for f in module.functions if not f.is_declaration]
        places = {name: engine.get_function_address(name) for name in defined}
        return _EngineImage(engine, places, sum(sizes))


def _unlocked_emit() -> Callable[[llvm.TargetMachine, llvm.ModuleRef], bytes]:
    """Returns a version of `TargetMachine.emit_object` without llvmlite's lock.

    Each module must have a separate context.
    """
    from llvmlite.binding import ffi

    library = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle)  # releases the GIL
    emit = library.LLVMPY_TargetMachineEmitToMemory
    emit.argtypes = [
        ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p),
    ]  # fmt: skip
    emit.restype = ffi.LLVMMemoryBufferRef

    def emit_object(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
        with ffi.OutputString() as error:
            memory = emit(machine, module, True, error)
            if not memory:
                raise RuntimeError(str(error))
        try:
            size = ffi.lib.LLVMPY_GetBufferSize(memory)
            return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(memory), size)
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(memory)

    return emit_object


# Engines whose code is no longer used. The next thread that uses LLVM closes them.
_abandoned: list[llvm.ExecutionEngine] = []


class _EngineImage:
    """Machine code that is owned by an LLVM execution engine."""

    def __init__(self, engine: llvm.ExecutionEngine, functions: dict[str, int], size: int) -> None:
        self._engine = engine
        self.functions = functions
        self.size = size

    # The list is an argument, since global variables may have been deleted at interpreter shutdown.
    def __del__(self, abandoned: list[llvm.ExecutionEngine] = _abandoned) -> None:
        abandoned.append(self._engine)


@lru_cache(maxsize=1)
def library() -> _Library:
    """Returns LLVM, initialized for the host."""
    return _Library(host())


class Code:
    """The machine code of a module, which is in memory during the lifetime of this object.

    Attributes:
      data: the object file, or None if it cannot be stored.
      calls: the code of the functions of other modules that it calls, by name.
      size: the size in memory in bytes.
    """

    __slots__ = ("__weakref__", "_image", "calls", "data", "size")

    def __init__(self, image: Image, data: bytes | None, calls: Mapping[str, Code]) -> None:
        self._image = image
        self.data = data
        self.calls = calls
        self.size = image.size

    def address(self, function: str) -> int:
        """Returns the address of `function`."""
        return self._image.functions[function]


def emit(
    texts: Sequence[str], threads: int = 1, level: int = DEFAULT_LEVEL
) -> Sequence[str | bytes]:
    """Compiles modules of LLVM IR to the form that `load` expects: object files if a loader is set.

    Args:
      texts: the texts of the modules.
      threads: the maximum number of threads to use.
      level: the optimization level of LLVM's code generation, 0 to 3; execution engines always use
        the default level.

    Raises:
      RuntimeError: if a text is invalid, which is a bug in code generation.
    """
    if _loader is None:
        return texts
    with forking.llvm:
        return _objects(texts, min(threads, len(texts)), level)


def _objects(texts: Sequence[str], threads: int, level: int) -> list[bytes]:
    objects: list[bytes] = [b""] * len(texts)
    waiting = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    compile_progress.enters("machine code")
    has_done = compile_progress.counter(sum(map(len, texts)))

    def work() -> None:  # longest module first
        try:
            while True:
                try:
                    k = waiting.pop()
                except IndexError:
                    return
                objects[k] = _object(texts[k], level)
                has_done(len(texts[k]))
        finally:
            waiting.clear()  # an error stops the other threads as well

    shielded.call_all([work] * max(threads, 1), cancel=waiting.clear)
    return objects


# Functions that are jitted again, and programs with the same kernels in the same order, have
# modules with equal text. Only short ones are cached, since long ones would use too much memory.
_SHORT_TEXT = 1 << 16


@caches.memoized("object files", "module text, optimization level, target", 128)
def _object_of_short(text: str, level: int, target: Target) -> bytes:
    own = library()
    assert own.target == target
    return own.object(text, level)


def _object(text: str, level: int) -> bytes:
    if len(text) > _SHORT_TEXT:
        return library().object(text, level)
    return _object_of_short(text, level, host())


def load(emitted: str | bytes, known: Mapping[str, int], calls: Mapping[str, Code] = {}) -> Code:
    """Loads the machine code of a module into memory.

    Args:
      emitted: a result of `emit`, or such an object file read from disk.
      known: the addresses of the symbols that it needs.
      calls: the code of other modules whose functions it calls, by the names of the functions.

    Raises:
      ValueError: if the code is damaged, is for another machine, or needs an unknown symbol.
    """
    if isinstance(emitted, str):
        with forking.llvm:
            return Code(shielded.call(lambda: library().engine(emitted, known)), None, calls)
    assert _loader is not None, "no loader is set"
    return Code(_loader(emitted, known), emitted, calls)


def addresses(functions: Mapping[str, Code]) -> dict[str, int]:
    """Returns the addresses of functions, given their code by name."""
    return {name: code.address(name) for name, code in functions.items()}


def assembly(text: str, level: int = DEFAULT_LEVEL) -> str:
    """Returns the assembly of a module."""
    with forking.llvm:
        return shielded.call(lambda: library().assembly(text, level))
