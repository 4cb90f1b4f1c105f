"""Finds the BLAS libraries of this process, and restricts them to one thread.

There can be two of them, since the wheels of NumPy and SciPy each contain an OpenBLAS. They are
found among the loaded libraries, and used through their C interfaces. If the extra `mkl` is
installed, matrix products on Intel processors use MKL instead; on one thread, a product of 1024 x
1024 float32 matrices takes 0.85 times as long as with OpenBLAS.

OpenBLAS divides even small problems among its threads, which spin between calls. If other programs
compete for the processors, these threads wait for each other, which can take hundreds of times as
long as the computation. Therefore compiled programs divide products among the runtime's threads,
and factorizations run on one thread unless they are large.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from jitney.core.contexts import Between

_GET_THREADS = [
    f"{prefix}openblas_get_num_threads{suffix}"
    for prefix in ("scipy_", "")
    for suffix in ("", "64_")
]
_SET_THREADS = ("openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local")
_NUMPYS, SCIPYS = "numpy.libs", "scipy.libs"  # folders in which the wheels install OpenBLAS
_USES_SCIPYS = "scipy.linalg._fblas"  # the module that loads SciPy's OpenBLAS

# The names of the matrix multiplication functions, by dtype.
PRODUCTS = {
    np.dtype(np.float32): "sgemm",
    np.dtype(np.float64): "dgemm",
    np.dtype(np.complex64): "cgemm",
    np.dtype(np.complex128): "zgemm",
}


def address(function: Any) -> int:
    """Returns the address of a ctypes function's code."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def function(name: str) -> int:
    """Returns the address of a BLAS function with Fortran's calling convention.

    The function is NumPy's, which takes 64-bit integers, or MKL's or SciPy's, which take 32-bit
    integers. Callers pass pointers to 64-bit integers, of which the functions with 32-bit integers
    read the low half.
    """
    intels = of_mkl(name)
    if intels:
        return intels
    library = _numpys()
    symbol = None if library is None else getattr(library, f"scipy_{name}_64_", None)
    if symbol is not None:
        one_thread.find_in(_NUMPYS)
        return address(symbol)
    scipy_address = capsule_address(exported("cython_blas")[name])
    one_thread.find_in(SCIPYS)
    return scipy_address


@cache
def _numpys() -> ctypes.CDLL | None:
    """Returns NumPy's OpenBLAS if it can be restricted to one thread, else None."""
    library = _loaded(_NUMPYS)
    return library if sys.byteorder == "little" and _setter(library) else None


# MKL's constants that select 32-bit integers and disable MKL's own threads.
_LP64, _SEQUENTIAL = 0, 1


@cache
def mkl() -> ctypes.CDLL | None:
    """Returns MKL if it is installed in this environment and the processor is Intel's, else None.

    `JITNEY_BLAS=openblas` disables MKL, `JITNEY_BLAS=mkl` enables it on other processors as well,
    and the path of a `libmkl_rt` selects that library.
    """
    wish = os.environ.get("JITNEY_BLAS", "")
    if wish.lower() == "openblas" or not (wish or _is_intels()):
        return None
    path = wish if os.path.isabs(wish) else _installed(os.path.join(sys.prefix, "lib"))
    if not path:
        return None
    library = ctypes.CDLL(path)
    library.MKL_Set_Interface_Layer(_LP64)
    library.MKL_Set_Threading_Layer(_SEQUENTIAL)
    return library


def _installed(folder: str) -> str:
    """Returns the path of the MKL library in `folder`, or "" if there is none."""
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    libraries = [name for name in names if name.startswith("libmkl_rt.so")]
    return os.path.join(folder, libraries[0]) if libraries else ""


def _is_intels() -> bool:
    """Returns whether the processor is made by Intel."""
    try:
        with open("/proc/cpuinfo") as file:
            return "GenuineIntel" in file.read(4096)
    except OSError:
        return False


def of_mkl(name: str) -> int:
    """Returns the address of MKL's BLAS or LAPACK function `name`, or 0 if MKL is not used."""
    library = mkl()
    return 0 if library is None else address(getattr(library, f"{name}_"))


@cache
def exported(module: str) -> Mapping[str, object]:
    """Returns the functions that an extension module of `scipy.linalg` exports to Cython.

    The result maps names to capsules. The extension module is imported on first use, without its
    package, because importing the package would take several times as long.
    """
    name = f"scipy.linalg.{module}"
    if name not in sys.modules:
        scipy = importlib.util.find_spec("scipy")
        for place in (scipy.submodule_search_locations or ()) if scipy else ():
            for suffix in importlib.machinery.EXTENSION_SUFFIXES:
                path = os.path.join(place, "linalg", f"{module}{suffix}")
                if os.path.exists(path):
                    return _load(name, path).__pyx_capi__
    return importlib.import_module(name).__pyx_capi__


def _load(name: str, path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _loaded(folder: str) -> ctypes.CDLL | None:
    """Returns the OpenBLAS that a wheel installed in `folder`, or None if it is not loaded."""
    maps = "/proc/self/maps"
    if not os.path.exists(maps):
        return None
    with open(maps) as file:
        mapped = [line.split(maxsplit=5) for line in file.read().splitlines()]
    for path in sorted({fields[5] for fields in mapped if len(fields) == 6}):
        if "openblas" in path and os.path.basename(os.path.dirname(path)) == folder:
            return ctypes.CDLL(path)
    return None


def _setter(library: ctypes.CDLL | None) -> int:
    """Returns the address of a library's function `int set_num_threads(int)`, or 0 if it has none.

    That function returns the previous number of threads.
    """
    for name in _SET_THREADS:
        setter = getattr(library, name, None)
        if setter is not None:
            return address(setter)
    return 0


def threads(package: str) -> int | None:
    """Returns the number of threads of the OpenBLAS of `package`, which is "numpy" or "scipy".

    Returns None if the number is unknown.
    """
    library = _loaded(f"{package}.libs")
    for name in _GET_THREADS if library is not None else ():
        getter = getattr(library, name, None)
        if getter is not None:
            return getter()
    return None


def capsule_address(capsule: object) -> int:
    """Returns the address that a capsule contains."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


# --- one thread -----------------------------------------------------------------------------------


class OneThread:
    """Context managers in which BLAS runs on one thread, for all callers in the process.

    Args:
      enter, leave: native functions that enter and leave such a context; they count callers.
      add: a native function that registers a library by the address of its `int
        set_num_threads(int)`.
    """

    def __init__(
        self, enter: Callable[[], None], leave: Callable[[], None], add: Callable[[int], None]
    ) -> None:
        self._guard, self._add = Between(enter, leave), add
        self._sought: set[str] = set()
        self._added: set[int] = set()
        self.is_known = False  # whether any library is registered

    def find_in(self, folder: str) -> None:
        """Registers the library that a wheel installed in `folder`, if it is loaded."""
        if folder not in self._sought:
            setter = _setter(_loaded(folder))
            if setter and setter not in self._added:  # added twice, it would restore one thread
                self._added.add(setter)
                self._add(setter)
                self.is_known = True
            self._sought.add(folder)  # last, so that the search is repeated after an interrupt

    def guard(self) -> Between:
        """Returns a context manager that acts on the libraries loaded so far."""
        if SCIPYS not in self._sought:
            self.find_in(_NUMPYS)
            if _USES_SCIPYS in sys.modules:
                self.find_in(SCIPYS)
        return self._guard


def _nothing(*_: int) -> None:
    """Does nothing.

    This is the default if the runtime has no native code.
    """


one_thread = OneThread(_nothing, _nothing, _nothing)


def use_guard(
    enter: Callable[[], None], leave: Callable[[], None], add: Callable[[int], None]
) -> None:
    """Sets the native functions that restrict BLAS to one thread; see `OneThread`."""
    global one_thread
    one_thread = OneThread(enter, leave, add)


def is_guarded() -> bool:
    """Returns whether BLAS can be restricted to one thread, so that several threads can call it."""
    function("sgemm")
    return one_thread.is_known or mkl() is not None


def for_work(operations: int) -> AbstractContextManager[None]:
    """Returns the context manager for a factorization that takes `operations` operations.

    It restricts BLAS to one thread unless the factorization is so large that several threads pay
    off.
    """
    from jitney.compiler.cost import COSTS  # imported late: `import jitney` does not need it

    return one_thread.guard() if operations < COSTS.blas_threads_above else nullcontext()
