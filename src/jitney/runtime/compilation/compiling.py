"""Machine code for programs in tensor IR: reused from memory or disk, or else compiled."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from jitney.core.settings import caches, compile_log, compile_progress
from jitney.core.util import forking
from jitney.core.util.thresholds import threshold
from jitney.runtime.compilation.lazy_compiler import compiler, linker

if TYPE_CHECKING:
    from jitney.compiler.codegen import linking
    from jitney.compiler.hlo import ir
    from jitney.runtime.devices.client import Client

# Equal programs come from functions that are jitted anew in a loop, and from functions with equal
# bodies.
_recent: OrderedDict[str, linking.CompiledProgram] = OrderedDict()
# The number of programs kept, equal to that of kernels whose code is kept (`codegen/program.py`),
# since most programs share a few modules.
MAX_RECENT = threshold(128, small=4)
# The maximum size of the constants of a program that is kept although it may not be in use.
MAX_CONSTANT_BYTES = threshold(1 << 17, small=64)
caches.register(
    "compiled programs", "digest of the lowered program", __name__,
    entries=_recent.__len__, clear=_recent.clear,
)  # fmt: skip


def backend_compile_and_load(backend: Client, module: ir.Module) -> linking.CompiledProgram:
    """Returns the machine code of `module` for the devices of `backend`.

    All compilation goes through this attribute of the module, so code that replaces it by a wrapper
    controls which programs are compiled.
    """
    # Imported here: importing jitney does not need it, and it takes a millisecond.
    from jitney.compiler.hlo.digest import digest

    start = time.perf_counter()
    key = digest(module)
    if key is None:
        return _compile(module)
    program = _recent.get(key)
    if program is None:
        with forking.programs.setdefault(key, threading.RLock()):
            program = _recent.get(key)  # another thread may have compiled it meanwhile
            if program is None:
                program = _load_or_compile(key, module)
                _keep(key, program)
                # After a failure the lock stays for the next thread that waits for it.
                forking.programs.pop(key, None)
                return program
    _keep(key, program)
    program = program.reused(time.perf_counter() - start)
    compile_log.reused(module.name, program.timings["lookup"])
    return program


def _keep(key: str, program: linking.CompiledProgram) -> None:
    """Keeps a program for reuse by equal ones, and drops the least recently used program."""
    if program.links.constant_bytes > MAX_CONSTANT_BYTES:
        return
    with contextlib.suppress(KeyError):  # another thread may have dropped the entry
        _recent[key] = program
        _recent.move_to_end(key)
        if len(_recent) > MAX_RECENT:
            _recent.popitem(last=False)


def _load_or_compile(key: str, module: ir.Module) -> linking.CompiledProgram:
    from jitney.runtime.cache import disk_cache

    place = disk_cache.directory()
    if place is None:
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
