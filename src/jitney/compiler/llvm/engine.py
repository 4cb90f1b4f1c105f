"""LLVM: from module text to addresses. The only place that loads llvmlite.

Modules come with vector code as it is to be; of LLVM's middle end only the passes run that finish what
the writers left to it: helpers are inlined, stack slots become registers.

LLVM writes an object file, which the runtime's loader puts into memory (`set_loader`): it takes a few
pages, where an engine of LLVM's takes most of a megabyte, and the file can be kept. Where there is no
loader, an engine does it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from jitney.compiler.llvm.target import Target, host
from jitney.core import forking

if TYPE_CHECKING:
    import llvmlite.binding as llvm


class Image(Protocol):
    """Machine code in memory."""

    functions: dict[str, int]

    @property
    def size(self) -> int: ...


Loader = Callable[[bytes, Mapping[str, int]], Image]

_loader: Loader | None = None


def set_loader(loader: Loader) -> None:
    """Says what puts object files into memory, given the addresses of the symbols they need."""
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
        self.machine = self._new_machine("pic", "small")
        self.layout = str(self.machine.target_data)

    def _new_machine(self, reloc: str, codemodel: str) -> llvm.TargetMachine:
        return self.triple.create_target_machine(
            cpu=self.target.cpu,
            features=self.target.feature_text,
            opt=2,
            reloc=reloc,
            codemodel=codemodel,
        )

    def module(self, text: str) -> llvm.ModuleRef:
        """The module that `text` is, with helpers inlined and stack slots turned into registers."""
        module = self.llvm.parse_assembly(text)
        module.triple = self.target.triple
        module.data_layout = self.layout
        passes = self.llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        # A builder keeps what it learnt of a module: each module has its own.
        options = self.llvm.create_pipeline_tuning_options(speed_level=1)
        passes.run(module, self.llvm.create_pass_builder(self.machine, options))
        return module

    def engine(self, module: llvm.ModuleRef, known: Mapping[str, int]) -> _EngineImage:
        """`module` in memory by an engine of LLVM's, which takes over a machine of its own."""
        engine = self.llvm.create_mcjit_compiler(module, self._new_machine("default", "jitdefault"))
        for symbol in (*module.functions, *module.global_variables):
            if symbol.name in known:
                engine.add_global_mapping(symbol, known[symbol.name])
        sizes: list[int] = []
        engine.set_object_cache(lambda _, code: sizes.append(len(code)))
        engine.finalize_object()
        defined = [f.name for f in module.functions if not f.is_declaration]
        places = {name: engine.get_function_address(name) for name in defined}
        return _EngineImage(engine, places, sum(sizes))


class _EngineImage:
    """Code that an engine of LLVM's keeps."""

    def __init__(self, engine: llvm.ExecutionEngine, functions: dict[str, int], size: int) -> None:
        self._engine = engine
        self.functions = functions
        self.size = size


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
        """Where `function` is in memory."""
        return self._image.functions[function]


def load(data: bytes, known: Mapping[str, int], calls: Mapping[str, Code] = {}) -> Code:
    """The object file `data` in memory; `known` has the addresses of what it needs.

    `calls` has the code of other modules whose functions it calls, by the functions' names.

    Raises:
      ValueError: if it is damaged, is for another machine, or needs a symbol that is not known.
    """
    assert _loader is not None, "no loader is set"
    return Code(_loader(data, known), data, calls)


def addresses(functions: Mapping[str, Code]) -> dict[str, int]:
    """Where functions are, of which there is the code by their names."""
    return {name: code.address(name) for name, code in functions.items()}


def compile_text(
    text: str, known: Mapping[str, int], calls: Mapping[str, Code] = {}
) -> tuple[Code, float]:
    """Machine code for a module of LLVM assembly, and the seconds it took.

    `known` and `calls` are those of `load`.

    Raises:
      RuntimeError: if the text is not valid; a defect of code generation.
    """
    start = time.perf_counter()
    with forking.llvm:
        code = _compiled(text, known, calls)
    return code, time.perf_counter() - start


def _compiled(text: str, known: Mapping[str, int], calls: Mapping[str, Code]) -> Code:
    # A function of its own, so that the module is freed while the lock is held.
    lib = library()
    module = lib.module(text)
    if _loader is None:
        return Code(lib.engine(module, known), None, calls)
    return load(lib.machine.emit_object(module), known, calls)


def assembly(text: str) -> str:
    """The machine instructions for a module, as text."""
    with forking.llvm:
        return _assembly(text)


def _assembly(text: str) -> str:
    lib = library()
    return lib.machine.emit_assembly(lib.module(text))
