"""Compiles the text of LLVM modules to machine code.

The code of modules is vectorized explicitly. Of LLVM's middle end, only those passes run on which
code generation relies: helpers are inlined, and stack slots are promoted to registers.

LLVM emits an object file, which the runtime's loader maps into memory (`set_loader`). This takes a
few pages, whereas one of LLVM's execution engines takes most of a megabyte, and the file can be
stored. Without a loader, an execution engine is used (`execution_engine`).

Several threads can compile modules concurrently, each with a separate LLVM context and target
machine. LLVM's objects are used and disposed of in code that signals do not interrupt
(`core.util.shielded`).
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from jitney.compiler.llvm import binding
from jitney.compiler.llvm.target import Target, host
from jitney.core.settings import caches, compile_progress
from jitney.core.util import forking, shielded


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
        functions = binding.functions()
        functions.InitializeNativeTarget()
        functions.InitializeNativeAsmPrinter()
        if not target.is_x86:
            functions.InitializeNativeAsmParser()  # clocks are read by inline assembly
        self.target = target
        # The idle target machines, by level.
        self._machines: defaultdict[int, list[binding.TargetMachine]] = defaultdict(list)
        self._machines[DEFAULT_LEVEL].append(self._new_machine(DEFAULT_LEVEL))

    def _new_machine(self, level: int) -> binding.TargetMachine:
        target = self.target
        return binding.TargetMachine(target.triple, target.cpu, target.feature_text, level)

    def object(self, text: str, level: int = DEFAULT_LEVEL) -> bytes:
        """Compiles a module to an object file; several threads can call this concurrently."""
        machines = self._machines[level]
        try:
            machine = machines.pop()
        except IndexError:
            machine = self._new_machine(level)
        try:
            return machine.object(text)
        finally:
            machines.append(machine)

    def assembly(self, text: str, level: int) -> str:
        """Returns the assembly of a module."""
        with contextlib.closing(self._new_machine(level)) as machine:
            return machine.assembly(text)


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
        from jitney.compiler.llvm import execution_engine  # imports llvmlite

        with forking.llvm:
            return Code(shielded.call(lambda: execution_engine.load(emitted, known)), None, calls)
    assert _loader is not None, "no loader is set"
    return Code(_loader(emitted, known), emitted, calls)


def addresses(functions: Mapping[str, Code]) -> dict[str, int]:
    """Returns the addresses of functions, given their code by name."""
    return {name: code.address(name) for name, code in functions.items()}


def assembly(text: str, level: int = DEFAULT_LEVEL) -> str:
    """Returns the assembly of a module."""
    with forking.llvm:
        return shielded.call(lambda: library().assembly(text, level))
