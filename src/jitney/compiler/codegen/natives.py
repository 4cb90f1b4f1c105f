"""Functions that compiled programs call by address: BLAS, threads, and Python.

A Python function is called by number; its exception is kept, and raised when the program has returned.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import itertools
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from jitney.compiler.plan import ir

_hosts: dict[int, ir.Host] = {}
_numbers = itertools.count(1)
_pending = threading.local()
_HostFunction = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p)

# Name -> address; the runtime enters its own functions (`register_symbol`).
_symbols: dict[str, int] = {}


def register_symbol(name: str, address: int) -> None:
    """Makes a native function of the runtime known."""
    _symbols[name] = address


_threads = 1


def threads() -> int:
    """How many threads large kernels are divided among."""
    return _threads


def set_threads(n: int) -> None:
    """Says how many threads `parallel_for` has."""
    global _threads
    _threads = n


def symbol(name: str) -> int:
    """Address of a native function."""
    found = _symbols.get(name)
    if found is None:
        found = _symbols[name] = _finders[name]()
    return found


# --- Python functions -----------------------------------------------------------------------------


def register(step: ir.Host) -> int:
    """Makes a Python function callable; returns its number."""
    number = next(_numbers)
    _hosts[number] = step
    return number


class Registration:
    """Keeps a Python function callable for as long as it lives."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        if _hosts is not None:  # the module may be gone when the interpreter shuts down
            _hosts.pop(self.number, None)


def _view(address: int, shape: tuple[int, ...], dtype: np.dtype, nbytes: int) -> np.ndarray:
    if not nbytes:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)  # type: ignore[call-overload]


def _call_python(number: int, slots: int) -> int:
    try:
        step = _hosts[number]
        pointers = ctypes.cast(slots, ctypes.POINTER(ctypes.c_void_p))
        n = len(step.args)
        args = [
            _view(pointers[i] or 0, t.shape, t.dtype, t.nbytes)
            for i, (_, t) in enumerate(step.args)
        ]
        results = step.fn(*args)
        for i, (value, (_, t)) in enumerate(zip(results, step.results, strict=True)):
            if t.nbytes:
                _view(pointers[n + i] or 0, t.shape, t.dtype, t.nbytes)[...] = value
        return 0
    except BaseException as error:  # it is raised again in raise_pending
        _pending.error = error
        return 1


_python_entry = _HostFunction(_call_python)


def raise_pending() -> None:
    """Raises the exception of the Python function that failed in this thread."""
    error = getattr(_pending, "error", None)
    _pending.error = None
    if error is None:
        raise RuntimeError("a compiled program failed without saying why")
    raise error


# --- BLAS and threads -----------------------------------------------------------------------------


@cache
def _blas() -> Any:
    """The functions of BLAS that SciPy exports, by name.

    The extension module is loaded by itself, at the first contraction that is large: the package
    `scipy.linalg` around it takes several times as long.
    """
    name = "scipy.linalg.cython_blas"
    if name not in sys.modules:
        scipy = importlib.util.find_spec("scipy")
        for place in (scipy.submodule_search_locations or ()) if scipy else ():
            for suffix in importlib.machinery.EXTENSION_SUFFIXES:
                path = Path(place, "linalg", f"cython_blas{suffix}")
                if path.exists():
                    return _load(name, path).__pyx_capi__
    return importlib.import_module(name).__pyx_capi__


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _set_blas_threads() -> int:
    """Address of OpenBLAS's `int set_num_threads(int)`, which gives the number before; 0 if unknown.

    SciPy's wheels bring their own OpenBLAS, whose threads spin between calls and divide even small
    products; compiled programs divide products among the runtime's threads instead.
    """
    _blas()
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return 0
    mapped = (line.split(maxsplit=5) for line in maps.read_text().splitlines())
    loaded = sorted(
        {fields[5] for fields in mapped if len(fields) == 6 and "openblas" in fields[5]}
    )
    # NumPy's wheels bring a copy of their own: SciPy's is the one that is called.
    for path in [p for p in loaded if Path(p).parent.name == "scipy.libs"] or loaded:
        library = ctypes.CDLL(path)
        for name in ("openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local"):
            function = getattr(library, name, None)
            if function is not None:
                return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


def _capsule_address(capsule: Any) -> int:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


_ParallelFor = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_Chunk = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@_ParallelFor
def _serial_for(code: int, slots: int, n: int, grain: int) -> None:
    """Stands in where the runtime has no native threads."""
    _Chunk(code)(slots, 0, n)


_finders: dict[str, Callable[[], int]] = {
    "host": lambda: ctypes.cast(_python_entry, ctypes.c_void_p).value or 0,
    "parallel_for": lambda: ctypes.cast(_serial_for, ctypes.c_void_p).value or 0,
    "blas_threads": _set_blas_threads,
    "sgemm": lambda: _capsule_address(_blas()["sgemm"]),
    "dgemm": lambda: _capsule_address(_blas()["dgemm"]),
}
