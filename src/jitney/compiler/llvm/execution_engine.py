"""Loads modules by LLVM's execution engine (MCJIT), where the runtime has no loader.

This is the case on macOS. Compilation imports llvmlite's package in this module alone; it has a lock
that allows only one thread at a time to call LLVM.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from jitney.compiler.llvm.target import Target, host

if TYPE_CHECKING:
    import llvmlite.binding as llvm

# Engines whose code is no longer used. The next thread that loads a module closes them.
_abandoned: list[llvm.ExecutionEngine] = []


class EngineImage:
    """Machine code that is owned by an LLVM execution engine."""

    def __init__(self, engine: llvm.ExecutionEngine, functions: dict[str, int], size: int) -> None:
        self._engine = engine
        self.functions = functions
        self.size = size

    # The list is an argument, since global variables may have been deleted at interpreter shutdown.
    def __del__(self, abandoned: list[llvm.ExecutionEngine] = _abandoned) -> None:
        abandoned.append(self._engine)


class _Engines:
    """LLVM through llvmlite's package, initialized once."""

    def __init__(self, target: Target) -> None:
        import llvmlite.binding as llvm  # takes some 20 ms

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if not target.is_x86:
            llvm.initialize_native_asmparser()  # clocks are read by inline assembly
        self.llvm = llvm
        self.target = target
        self.triple = llvm.Target.from_triple(target.triple)

    def machine(self) -> llvm.TargetMachine:
        return self.triple.create_target_machine(
            cpu=self.target.cpu, features=self.target.feature_text, codemodel="jitdefault"
        )

    def module(self, text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
        """Parses a module in LLVM's global context, inlines helpers, and promotes stack slots.

        If this raises an exception, the module is closed.
        """
        module = self.llvm.parse_assembly(text)
        try:
            module.triple = self.target.triple
            module.data_layout = str(machine.target_data)
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


@lru_cache(maxsize=1)
def _engines() -> _Engines:
    return _Engines(host())


def load(text: str, known: Mapping[str, int]) -> EngineImage:
    """Compiles a module of LLVM IR by an execution engine, which owns a separate target machine.

    Args:
      text: the module.
      known: the addresses of the symbols that it needs.
    """
    while _abandoned:
        _abandoned.pop().close()
    engines = _engines()
    with contextlib.ExitStack() as owned:  # until the engine owns them
        machine = owned.enter_context(engines.machine())
        module = owned.enter_context(engines.module(text, machine))
        engine = engines.llvm.create_mcjit_compiler(module, machine)
        owned.pop_all()
    for symbol in (*module.functions, *module.global_variables):
        if symbol.name in known:
            engine.add_global_mapping(symbol, known[symbol.name])
    sizes: list[int] = []
    engine.set_object_cache(lambda _, code: sizes.append(len(code)))
    engine.finalize_object()
    defined = [f.name for f in module.functions if not f.is_declaration]
    places = {name: engine.get_function_address(name) for name in defined}
    return EngineImage(engine, places, sum(sizes))
