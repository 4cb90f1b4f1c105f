"""From a program in the tensor IR to machine code: as another process left it on disk, or compiled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jitney.core import compile_log, compile_progress
from jitney.runtime.lazy_compiler import compiler, linker

if TYPE_CHECKING:
    from jitney.compiler.codegen import linking
    from jitney.compiler.hlo import ir
    from jitney.runtime.client import Client


def backend_compile_and_load(backend: Client, module: ir.Module) -> linking.CompiledProgram:
    """The machine code of `module` for the devices of `backend`.

    All compilation passes through here, by this module's attribute: what wraps it decides what is
    compiled.
    """
    # Imported here: importing jitney does not need them, and they take some milliseconds.
    from jitney.compiler.hlo.digest import digest
    from jitney.runtime import disk_cache

    place = disk_cache.directory()
    key = digest(module) if place is not None else None
    if place is None or key is None:
        return _compile(module)
    linker()
    start = time.perf_counter()
    program = disk_cache.find(place, key, module)
    seconds = time.perf_counter() - start
    compile_log.looked_up(module.name, seconds, is_found=program is not None)
    if program is None:
        program = _compile(module)
        disk_cache.store(place, key, module, program)
    return program


def _compile(module: ir.Module) -> linking.CompiledProgram:
    from jitney.compiler.hlo.traversal import reachable, roots

    with compile_log.step("code generation", module.name):
        return compile_progress.watched(
            module.name,
            lambda: len(reachable(roots(module.region))),
            lambda: compiler().compile_module(module),
        )
