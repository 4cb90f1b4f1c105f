"""Background loading of the compiler and LLVM.

Loading them takes about 45 ms, as long as several compilations. Importing jitney does not load
them; the first operation, or the first function that is jitted, starts a thread that does. A
compilation that begins before they are loaded waits for that thread. If programs have been stored
on disk, the compiler is not loaded until a program is missing there.

The locks of `importlib` are written in Python: an exception from a signal handler can leave one
held forever, and a thread that needs that module then never ends. Therefore, the main thread waits
for the loading thread rather than for such locks, and a process that ends does not wait forever.
"""

from __future__ import annotations

import atexit
import threading
import types
from functools import cache

from jitney.core.util import forking

_PATIENCE = 5.0  # seconds to wait for the thread, which takes about 0.1

started = False
_thread: threading.Thread | None = None


@cache
def linker() -> None:
    """Prepares for loading and linking machine code, for which LLVM is not needed."""
    from jitney.compiler import (
        added_products as added_products,
        convolutions,
        fourier,
        tile_products,
    )
    from jitney.compiler.codegen import symbols
    from jitney.compiler.llvm import engine
    from jitney.runtime.devices import device
    from jitney.runtime.native import _loader, _native

    symbols.register_symbol("parallel_for", _native.parallel_for_address())
    symbols.register_symbol("in_order", _native.in_order_address())
    symbols.register_symbol("host", _native.call_host_address())
    symbols.register_symbol("over_batch", _native.over_batch_address())
    symbols.register_symbol("poll", _native.poll_address())
    for bits, address in _native.transpose_addresses().items():
        symbols.register_symbol(f"transpose_{bits}", address)
    _native.use_host_function(symbols.call_host)
    for name, address in zip(("enter", "leave"), _native.blas_guard_addresses(), strict=True):
        symbols.register_symbol(f"blas_{name}", address)
    symbols.set_threads(device.thread_count())
    convolutions.use_native(_convolution_address)
    fourier.use_native(_transform_address)
    tile_products.use_native(_product_sets, _product_address)
    if _loader.can_load_code():
        engine.set_loader(_loader.CodeImage)


def _convolution_address(kind: int, type_: int, level: int) -> int:
    from jitney.runtime.native import _convolve  # loaded when a program has a convolution

    return _convolve.address(kind, type_, level)


def _transform_address(kind: int, type_: int, level: int) -> int:
    from jitney.runtime.native import _fourier  # loaded when a program has a Fourier transform

    return _fourier.address(kind, type_, level)


@cache
def _product_sets(size: int) -> int:
    from jitney.runtime.native import _multiply  # loaded for products of narrow dtypes

    return _multiply.sets(size)


@cache
def _product_address(which: int, instructions: int) -> int:
    from jitney.runtime.native import _multiply

    return _multiply.address(which, instructions)


@cache
def compiler() -> types.ModuleType:
    """Returns the compiler's pipeline, loaded and prepared for the runtime's threads."""
    if _thread is not None:
        _thread.join(_PATIENCE)
    return _pipeline()


def _pipeline() -> types.ModuleType:
    from jitney.compiler import pipeline

    linker()
    return pipeline


def start() -> None:
    """Starts to load the compiler in a thread; only the first call has an effect."""
    global started, _thread
    if not started:
        started = True
        from jitney.runtime.cache import disk_cache

        if not disk_cache.has_entries():
            thread = threading.Thread(target=_load, name="jitney-preload", daemon=True)
            thread.start()
            atexit.register(thread.join, _PATIENCE)  # LLVM must not be torn down while it loads
            _thread = thread


def _load() -> None:
    from jitney.compiler.llvm import engine

    _pipeline()
    with forking.llvm:
        engine.library()
