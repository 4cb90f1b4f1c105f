"""The functions of LLVM that the compiler calls, in the shared library of llvmlite.

llvmlite's Python package wraps all of LLVM's interface; importing it takes as long as loading LLVM
itself, some 20 ms, in the first call of a process. The compiler needs the functions below, so it
loads the shared library with `ctypes`, without the package. Their signatures are those that
llvmlite declares; a test compares them with the installed version.

Several threads can compile at once, with separate contexts and target machines. Functions that take
long release the GIL; the others hold it, which also protects the initialization. Pointers to LLVM's
objects are integers. A pass builder leaves some 500 bytes behind that LLVM's C interface cannot
free.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jitney.core.settings import config

_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_OUT = ctypes.POINTER(_TEXT)  # set to a string that the caller disposes of

# Result and parameters of each function.
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "InitializeNativeAsmParser": (None,),
    "GetProcessTriple": (None, _OUT),
    "GetHostCPUName": (None, _OUT),
    "GetHostCPUFeatures": (_INT, _OUT),
    "DisposeString": (None, _TEXT),
    "GetTargetFromTriple": (_POINTER, _TEXT, _OUT),
    "CreateTargetMachine": (
        _POINTER, _POINTER, _TEXT, _TEXT, _TEXT, _INT, _TEXT, _TEXT, _INT, _INT, _TEXT,
    ),
    "DisposeTargetMachine": (None, _POINTER),
    "CreateTargetMachineData": (_POINTER, _POINTER),
    "CopyStringRepOfTargetData": (None, _POINTER, _OUT),
    "DisposeTargetData": (None, _POINTER),
    "ContextCreate": (_POINTER,),
    "ContextDispose": (None, _POINTER),
    "ParseAssembly": (_POINTER, _POINTER, _TEXT, _OUT),
    "VerifyModule": (ctypes.c_bool, _POINTER, _OUT),
    "DisposeModule": (None, _POINTER),
    "SetTarget": (None, _POINTER, _TEXT),
    "SetDataLayout": (None, _POINTER, _TEXT),
    "CreatePipelineTuningOptions": (_POINTER,),
    "DisposePipelineTuningOptions": (None, _POINTER),
    "CreatePassBuilder": (_POINTER, _POINTER, _POINTER),
    "DisposePassBuilder": (None, _POINTER),
    "CreateNewModulePassManager": (_POINTER,),
    "DisposeNewModulePassManger": (None, _POINTER),
    "module_AddAlwaysInlinerPass": (None, _POINTER),
    "module_AddSROAPass": (None, _POINTER),
    "RunNewModulePassManager": (None, _POINTER, _POINTER, _POINTER),
    "TargetMachineEmitToMemory": (_POINTER, _POINTER, _POINTER, _INT, _OUT),
    "GetBufferStart": (_POINTER, _POINTER),
    "GetBufferSize": (ctypes.c_size_t, _POINTER),
    "DisposeMemoryBuffer": (None, _POINTER),
}  # fmt: skip
_LONG = ("ParseAssembly", "RunNewModulePassManager", "TargetMachineEmitToMemory")
# The versions of LLVM in llvmlite 0.45 to 0.50, for which the signatures hold; 21 is in none.
_KNOWN_VERSIONS = frozenset((20, 22))


class Functions:
    """The functions of `SIGNATURES` as attributes, without the prefix of their symbols."""

    def __init__(self, path: str) -> None:
        holding, releasing = ctypes.PyDLL(path), ctypes.CDLL(path)  # the same library, loaded once
        for name, (result, *parameters) in SIGNATURES.items():
            function = getattr(releasing if name in _LONG else holding, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)
        version: Any = holding.LLVMPY_GetVersionInfo
        version.restype = ctypes.c_uint
        self.version: int = version() >> 16

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...


@lru_cache(maxsize=1)
def functions() -> Functions:
    """Returns the functions of LLVM; the first call loads its library.

    Raises:
      ImportError: if llvmlite is not installed, or if a function has another signature there.
    """
    try:
        found = Functions(library_path())
    except (AttributeError, OSError) as error:
        raise ImportError(
            f"LLVM cannot be used through this llvmlite: {error}. Instead: install llvmlite 0.50"
        ) from error
    if found.version not in _KNOWN_VERSIONS:
        differing = differing_signatures()
        if differing:
            raise ImportError(
                f"this llvmlite, with LLVM {found.version}, declares other signatures of "
                f"{', '.join(differing)}. Instead: install llvmlite 0.50"
            )
    return found


def library_path() -> str:
    """Returns the path of llvmlite's shared library, which is found without importing anything.

    Raises:
      ImportError: if there is none.
    """
    spec = find_spec("llvmlite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("libllvmlite.so", "libllvmlite.dylib", "llvmlite.dll"):
            path = os.path.join(folder, "binding", name)
            if os.path.exists(path):
                return path
    raise ImportError("llvmlite is not installed. Instead: pip install llvmlite")


def differing_signatures() -> list[str]:
    """Returns the functions for which the llvmlite package declares another signature."""
    import llvmlite.binding  # declares all signatures
    from llvmlite.binding import ffi

    simple = {
        _TEXT: "text", _INT: "int", _OUT: "out", ctypes.c_size_t: "size", ctypes.c_bool: "bool",
        None: "none",
    }  # fmt: skip

    def kinds(declared: Sequence[Any]) -> list[str]:
        """Returns how values are passed; a pointer to an object is passed like `void*`."""
        return [simple.get(t, "pointer") for t in declared]

    assert llvmlite.binding
    differing: list[str] = []
    for name, (result, *parameters) in SIGNATURES.items():
        function = getattr(ffi.lib, f"LLVMPY_{name}")
        declared = kinds(parameters if function.argtypes is None else function.argtypes)
        # Functions without a declared result return nothing, or an int, which is ctypes' default.
        is_result_equal = function.restype is _INT or kinds([function.restype]) == kinds([result])
        if declared != kinds(parameters) or not is_result_equal:
            differing.append(name)
    return differing


def with_text(function: Callable[..., Any], *arguments: object) -> tuple[Any, str]:
    """Calls a function of LLVM whose last parameter is a string that it sets.

    Returns (its result, the string).
    """
    out = _TEXT()
    result = function(*arguments, ctypes.byref(out))
    try:
        return result, (out.value or b"").decode()
    finally:
        if out:
            functions().DisposeString(out)


def process_triple() -> str:
    """Returns the target triple of this process."""
    return with_text(functions().GetProcessTriple)[1]


def cpu_name() -> str:
    """Returns LLVM's name of the processor."""
    return with_text(functions().GetHostCPUName)[1]


def cpu_features() -> dict[str, bool]:
    """Returns the features that LLVM knows of, and whether the processor has them."""
    _, listed = with_text(functions().GetHostCPUFeatures)
    return {feature[1:]: feature[0] == "+" for feature in listed.split(",") if feature}


class TargetMachine:
    """LLVM's code generator for a processor; used by one thread at a time.

    Args:
      triple: the target triple.
      cpu: the name of the processor.
      features: the features, such as "+avx2,-avx512f".
      level: the optimization level, 0 to 3.

    Raises:
      RuntimeError: if LLVM cannot generate code for the target.
    """

    def __init__(self, triple: str, cpu: str, features: str, level: int) -> None:
        f = functions()
        self._triple = triple.encode()
        target, error = with_text(f.GetTargetFromTriple, self._triple)
        if target is None:
            raise RuntimeError(error)
        self._machine: int | None = f.CreateTargetMachine(
            target, self._triple, cpu.encode(), features.encode(), level,
            b"pic", b"small", 0, 0, b"",
        )  # fmt: skip
        if self._machine is None:
            raise RuntimeError(f"LLVM has no target machine for {triple}")
        data = f.CreateTargetMachineData(self._machine)
        self._layout = with_text(f.CopyStringRepOfTargetData, data)[1].encode()
        f.DisposeTargetData(data)

    def close(self) -> None:
        """Disposes of LLVM's object."""
        if self._machine is not None:
            functions().DisposeTargetMachine(self._machine)
            self._machine = None

    def object(self, text: str) -> bytes:
        """Returns the object file of a module of LLVM IR.

        Raises:
          RuntimeError: if `text` is invalid.
        """
        return self._emit(text, is_object=True)

    def assembly(self, text: str) -> str:
        """Returns the assembly of a module of LLVM IR; see `object`."""
        return self._emit(text, is_object=False).decode()

    def _emit(self, text: str, is_object: bool) -> bytes:
        """Compiles a module in a context of its own, which no other thread uses."""
        f = functions()
        with _owned(f.ContextCreate(), f.ContextDispose) as context:
            parsed, error = with_text(f.ParseAssembly, context, text.encode())
            if parsed is None or error:
                raise RuntimeError(f"LLVM cannot parse a module: {error}")
            with _owned(parsed, f.DisposeModule) as module:
                if config.enable_checks.value or os.environ.get("JITNEY_CHECK") == "1":
                    self._verify(module)
                f.SetTarget(module, self._triple)
                f.SetDataLayout(module, self._layout)
                self._run_passes(module)
                return self._written(module, is_object)

    def _verify(self, module: int) -> None:
        """Raises RuntimeError if LLVM's verifier rejects a module, which the parser accepts."""
        is_invalid, error = with_text(functions().VerifyModule, module)
        if is_invalid:
            raise RuntimeError(f"LLVM's verifier rejects a module: {error}")

    def _run_passes(self, module: int) -> None:
        """Inlines helpers, and promotes stack slots to registers."""
        f = functions()
        # A pass builder caches analyses of a module, so each module has a separate one.
        with (
            _owned(f.CreatePipelineTuningOptions(), f.DisposePipelineTuningOptions) as options,
            _owned(f.CreateNewModulePassManager(), f.DisposeNewModulePassManger) as passes,
            _owned(f.CreatePassBuilder(self._machine, options), f.DisposePassBuilder) as builder,
        ):
            f.module_AddAlwaysInlinerPass(passes)
            f.module_AddSROAPass(passes)
            f.RunNewModulePassManager(passes, module, builder)

    def _written(self, module: int, is_object: bool) -> bytes:
        f = functions()
        emitted, error = with_text(f.TargetMachineEmitToMemory, self._machine, module, is_object)
        if emitted is None:
            raise RuntimeError(f"LLVM cannot compile a module: {error}")
        with _owned(emitted, f.DisposeMemoryBuffer) as buffer:
            return ctypes.string_at(f.GetBufferStart(buffer), f.GetBufferSize(buffer))


@contextmanager
def _owned(pointer: int, dispose: Callable[[int], object]) -> Generator[int]:
    try:
        yield pointer
    finally:
        dispose(pointer)
