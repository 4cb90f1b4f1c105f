"""The functions of the library behind llvmlite, as far as they are called beside it."""

import ctypes
from types import TracebackType
from typing import Any

LLVMTargetMachineRef: type[Any]
LLVMModuleRef: type[Any]
LLVMMemoryBufferRef: type[Any]

class _Library:
    @property
    def _name(self) -> str: ...
    @property
    def _handle(self) -> int: ...
    def LLVMPY_GetBufferStart(self, memory: object) -> int: ...
    def LLVMPY_GetBufferSize(self, memory: object) -> int: ...
    def LLVMPY_DisposeMemoryBuffer(self, memory: object) -> None: ...

lib: _Library

class OutputString:
    def __enter__(self) -> ctypes.c_char_p: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
