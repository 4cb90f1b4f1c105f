"""Functions that compiled programs call by address: BLAS, threads, and Python.

The runtime enters its own (`register_symbol`); BLAS is looked for here. A Python function is called by
number: the runtime's "host" calls `call_host`.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import itertools
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jitney.compiler.plan import ir

_hosts: dict[int, ir.Host] = {}
_numbers = itertools.count(1)

# Name -> address.
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


def call_host(number: int, slots: int) -> None:
    """Calls Python function `number` for a program.

    Args:
      number: as `register` gave it.
      slots: address of the addresses of its operands, then of its results.

    Raises:
      BaseException: what the function, or a handler of a signal, raises: the program then fails.
    """
    step = _hosts[number]
    pointers = ctypes.cast(slots, ctypes.POINTER(ctypes.c_void_p))
    n = len(step.args)
    args = [
        _view(pointers[i] or 0, t.shape, t.dtype, t.nbytes) for i, (_, t) in enumerate(step.args)
    ]
    results = step.fn(*args)
    for i, (value, (_, t)) in enumerate(zip(results, step.results, strict=True)):
        if t.nbytes:
            _view(pointers[n + i] or 0, t.shape, t.dtype, t.nbytes)[...] = value


# --- BLAS and threads -----------------------------------------------------------------------------


_THREADS = ("openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local")


@cache
def _loaded(folder: str) -> Any:
    """The OpenBLAS that a wheel brought to `folder`, if it is loaded; None if there is none."""
    maps = "/proc/self/maps"
    if not os.path.exists(maps):
        return None
    with open(maps) as file:
        mapped = [line.split(maxsplit=5) for line in file.read().splitlines()]
    for path in sorted({fields[5] for fields in mapped if len(fields) == 6}):
        if "openblas" in path and os.path.basename(os.path.dirname(path)) == folder:
            return ctypes.CDLL(path)
    return None


@cache
def _numpys_blas() -> Any:
    """NumPy's OpenBLAS, which is in memory anyway, if it has what is needed; else None.

    Its whole numbers have 64 bits, SciPy's 32: they are passed as 64, of which the others read the low
    half.
    """
    library = _loaded("numpy.libs")
    wanted = ("scipy_sgemm_64_", "scipy_dgemm_64_", _THREADS[0])
    return (
        library if sys.byteorder == "little" and all(hasattr(library, x) for x in wanted) else None
    )


@cache
def _scipys_blas() -> Any:
    """The functions of BLAS that SciPy exports, by name.

    The extension module is loaded by itself, at the first contraction that is large: the package
    `scipy.linalg` around it takes several times as long.
    """
    name = "scipy.linalg.cython_blas"
    if name not in sys.modules:
        scipy = importlib.util.find_spec("scipy")
        for place in (scipy.submodule_search_locations or ()) if scipy else ():
            for suffix in importlib.machinery.EXTENSION_SUFFIXES:
                path = os.path.join(place, "linalg", f"cython_blas{suffix}")
                if os.path.exists(path):
                    return _load(name, path).__pyx_capi__
    return importlib.import_module(name).__pyx_capi__


def _load(name: str, path: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _gemm(name: str) -> int:
    """Address of a product of matrices of BLAS's, with Fortran's calling convention."""
    library = _numpys_blas()
    if library is not None:
        return _address(getattr(library, f"scipy_{name}_64_"))
    return _capsule_address(_scipys_blas()[name])


@cache
def _set_blas_threads() -> int:
    """Address of OpenBLAS's `int set_num_threads(int)`, which gives the number before; 0 if unknown.

    OpenBLAS's threads spin between calls and divide even small products; compiled programs divide
    products among the runtime's threads instead.
    """
    library = _numpys_blas()
    if library is None:
        _scipys_blas()
        library = _loaded("scipy.libs")
    for name in _THREADS:
        function = getattr(library, name, None)
        if function is not None:
            return _address(function)
    return 0


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


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
    "parallel_for": lambda: _address(_serial_for),
    "blas_threads": _set_blas_threads,
    "sgemm": lambda: _gemm("sgemm"),
    "dgemm": lambda: _gemm("dgemm"),
}
