"""LLVM: from module text to addresses. The only place that loads llvmlite.

Modules come with vector code as it is to be; of LLVM's middle end only the passes run that finish what
the writers left to it: helpers are inlined, stack slots become registers.

LLVM writes an object file, which the runtime's loader puts into memory (`set_loader`): it takes a few
pages, where an engine of LLVM's takes most of a megabyte, and the file can be kept. Where there is no
loader, an engine does it.

Modules can be compiled by several threads at once. Each has a context of LLVM's, and a machine, of its
own; llvmlite lets one thread at a time call LLVM, so the function that nearly all time is spent in is
called beside it.

LLVM's objects are used and closed by threads that signals do not interrupt (`core.shielded`), a module
before the context that it is in, and none is left to the garbage collector, which has no order.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from jitney.compiler.llvm.target import Target, host
from jitney.core import caches, compile_progress, forking, shielded

if TYPE_CHECKING:
    import llvmlite.binding as llvm


class Image(Protocol):
    """Machine code in memory."""

    functions: dict[str, int]

    @property
    def size(self) -> int: ...


# How hard LLVM selects and schedules instructions and assigns registers, 0 to 3. From 1 on it takes
# equally long; 0 takes a third of that, and its code keeps values in memory.
DEFAULT_LEVEL = 2

Loader = Callable[[bytes, Mapping[str, int]], Image]

_loader: Loader | None = None


def set_loader(loader: Loader) -> None:
    """Sets the loader of object files, which takes the addresses of the symbols that they need."""
    global _loader
    _loader = loader


class _Library:
    """LLVM, set up once, and its machine for this target."""

    def __init__(self, target: Target) -> None:
        # Imported here: loading LLVM takes tens of milliseconds, and importing jitney must not.
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.target = target
        self.triple = llvm.Target.from_triple(target.triple)
        machine = self._new_machine("pic", "small")
        self.layout = str(machine.target_data)
        # Idle ones, by their level.
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
        """Returns the object file of a module; several threads may call this at once."""
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
        """Returns the machine instructions of a module, as text."""
        with (
            self._new_machine("pic", "small", level) as machine,
            self.llvm.create_context() as context,
            self.module(text, machine, context) as module,
        ):
            return machine.emit_assembly(module)

    def module(
        self, text: str, machine: llvm.TargetMachine, context: llvm.ContextRef | None
    ) -> llvm.ModuleRef:
        """The module that `text` is, with helpers inlined and stack slots turned into registers.

        It is closed where this raises, so that nothing is left in `context`.
        """
        module = self.llvm.parse_assembly(text, context)
        try:
            module.triple = self.target.triple
            module.data_layout = self.layout
            # A builder keeps what it learnt of a module: each module has its own.
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
        """Returns a module in memory by an engine of LLVM's, which takes over a machine of its own."""
        while _abandoned:
            _abandoned.pop().close()
        with contextlib.ExitStack() as owned:  # until the engine has taken them over
            machine = owned.enter_context(self._new_machine("default", "jitdefault"))
            module = owned.enter_context(
                self.module(text, machine, None)
            )  # LLVM's one global context
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
    """`TargetMachine.emit_object` without llvmlite's lock, for modules of contexts of their own."""
    from llvmlite.binding import ffi

    library = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle)  # releases Python's lock
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


# Engines whose code is not used any more: closed by the next thread that LLVM works in.
_abandoned: list[llvm.ExecutionEngine] = []


class _EngineImage:
    """Code that an engine of LLVM's keeps."""

    def __init__(self, engine: llvm.ExecutionEngine, functions: dict[str, int], size: int) -> None:
        self._engine = engine
        self.functions = functions
        self.size = size

    def __del__(self) -> None:
        _abandoned.append(self._engine)


@lru_cache(maxsize=1)
def library() -> _Library:
    """LLVM for the host."""
    return _Library(host())


class Code:
    """Machine code of one module; alive as long as this object.

    Attributes:
      data: the object file; None if it cannot be kept.
      calls: functions of other modules that it calls, by name, with their code.
      size: bytes in memory.
    """

    __slots__ = ("__weakref__", "_image", "calls", "data", "size")

    def __init__(self, image: Image, data: bytes | None, calls: Mapping[str, Code]) -> None:
        self._image = image
        self.data = data
        self.calls = calls
        self.size = image.size

    def address(self, function: str) -> int:
        """Returns where `function` is in memory."""
        return self._image.functions[function]


def emit(
    texts: Sequence[str], threads: int = 1, level: int = DEFAULT_LEVEL
) -> Sequence[str | bytes]:
    """What `load` puts into memory for modules of LLVM assembly: object files, if there is a loader.

    Args:
      texts: of the modules.
      threads: how many compile them at once, at most.
      level: how hard LLVM's code generation tries, 0 to 3; an engine always takes the default.

    Raises:
      RuntimeError: if a text is not valid; a defect of code generation.
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

    def work() -> None:  # the longest first
        try:
            while True:
                try:
                    k = waiting.pop()
                except IndexError:
                    return
                objects[k] = _object(texts[k], level)
                has_done(len(texts[k]))
        finally:
            waiting.clear()  # an error ends the others, too

    shielded.call_all([work] * max(threads, 1), cancel=waiting.clear)
    return objects


# A function that is jitted anew, and programs of the same kernels in the same order, have modules of
# equal text. Most are short; long ones would fill the memory.
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
    """Returns the machine code of a module in memory.

    Args:
      emitted: one of the results of `emit`, or the object file that one was.
      known: the addresses of what it needs.
      calls: the code of other modules whose functions it calls, by the functions' names.

    Raises:
      ValueError: if it is damaged, is for another machine, or needs a symbol that is not known.
    """
    if isinstance(emitted, str):
        with forking.llvm:
            return Code(shielded.call(lambda: library().engine(emitted, known)), None, calls)
    assert _loader is not None, "no loader is set"
    return Code(_loader(emitted, known), emitted, calls)


def addresses(functions: Mapping[str, Code]) -> dict[str, int]:
    """Returns where functions are, of which there is the code by their names."""
    return {name: code.address(name) for name, code in functions.items()}


def assembly(text: str, level: int = DEFAULT_LEVEL) -> str:
    """Returns the machine instructions for a module, as text."""
    with forking.llvm:
        return shielded.call(lambda: library().assembly(text, level))
