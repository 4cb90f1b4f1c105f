"""LLVM: from module text to addresses. The only place that loads llvmlite.

Modules come with vector code as it is to be; of LLVM's middle end only the passes run that finish what
the writers left to it: helpers are inlined, stack slots become registers.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from typing import Any

from jitney.compiler.codegen.target import Target, host


class _Library:
    """LLVM, set up once, and the modules that have been compiled."""

    def __init__(self, target: Target) -> None:
        # Imported here: loading LLVM takes tens of milliseconds, and importing jitney must not.
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.llvm = llvm
        self.target = target
        self.triple = llvm.Target.from_triple(target.triple)
        self.machine = self.new_machine()
        self.layout = str(self.machine.target_data)

    def new_machine(self) -> Any:
        """A target machine: an engine takes one over, and takes it along when it goes."""
        return self.triple.create_target_machine(
            cpu=self.target.cpu,
            features=self.target.feature_text,
            opt=2,
            reloc="default",
            codemodel="jitdefault",
        )

    def tidy(self, module: Any) -> None:
        """Inlines helpers that must be, and turns stack slots into registers."""
        passes = self.llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        # A builder keeps what it learnt of a module: each module has its own.
        options = self.llvm.create_pipeline_tuning_options(speed_level=1)
        passes.run(module, self.llvm.create_pass_builder(self.machine, options))


@lru_cache(maxsize=1)
def library() -> _Library:
    """LLVM for the host."""
    return _Library(host())


# LLVM's objects are not safe to use from several threads at once.
lock = threading.RLock()


class Code:
    """Machine code of one module; alive as long as this object. `size` is in bytes."""

    __slots__ = ("__weakref__", "_engine", "module", "size")

    def __init__(self, engine: Any, module: Any, size: int) -> None:
        self._engine = engine
        self.module = module
        self.size = size

    def address(self, function: str) -> int:
        """Where `function` is in memory."""
        return self._engine.get_function_address(function)


def compile_text(text: str) -> tuple[Code, float]:
    """Machine code for a module of LLVM assembly, and the seconds it took.

    Raises:
      RuntimeError: if the text is not valid; a defect of code generation.
    """
    start = time.perf_counter()
    with lock:
        lib = library()
        module = lib.llvm.parse_assembly(text)
        module.triple = host().triple
        module.data_layout = lib.layout
        lib.tidy(module)
        engine = lib.llvm.create_mcjit_compiler(module, lib.new_machine())
        sizes: list[int] = []
        engine.set_object_cache(lambda _, code: sizes.append(len(code)))
        engine.finalize_object()
    return Code(engine, module, sum(sizes)), time.perf_counter() - start


def assembly(text: str) -> str:
    """The machine instructions for a module, as text."""
    with lock:
        lib = library()
        module = lib.llvm.parse_assembly(text)
        module.triple = host().triple
        module.data_layout = lib.layout
        lib.tidy(module)
        return lib.machine.emit_assembly(module)
