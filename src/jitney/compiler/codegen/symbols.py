"""Native functions that compiled programs call by address: BLAS, libraries, threads, and Python.

The runtime registers its functions (`register_symbol`); functions of BLAS and of libraries are
looked up. Python functions are called by number: the runtime's function "host" calls `call_host`.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler import blas, library
from jitney.core.util import float_errors

_Memory: TypeAlias = tuple[tuple[int, ...], np.dtype, int]  # shape, dtype, bytes
# The callers of Python functions, by number. A caller takes the address of an array of the
# addresses of operands and results.
_HostFunctions: TypeAlias = dict[int, Callable[[int], None]]
_host_functions: _HostFunctions = {}
_numbers = itertools.count(1)

# Name -> address.
_symbols: dict[str, int] = {}


def register_symbol(name: str, address: int) -> None:
    """Registers a native function of the runtime."""
    _symbols[name] = address


def is_called_by_kernels(name: str) -> bool:
    """Returns whether kernels call the runtime's function `name`; only entries call the others."""
    return name == "poll" or name.startswith("transpose_")


_threads = 1


def threads() -> int:
    """Returns the number of threads among which large kernels are divided."""
    return _threads


def set_threads(n: int) -> None:
    """Sets the number of threads of `parallel_for`."""
    global _threads
    _threads = n


def symbol(name: str) -> int:
    """Returns the address of a native function."""
    address = _symbols.get(name)
    if address is None:
        # Functions of libraries have a dot in their names, as in `lapack.lu.float32`.
        address = _symbols[name] = library.address(name) if "." in name else _finders[name]()
    return address


# --- Python functions -----------------------------------------------------------------------------


class HostFunction:
    """A Python function that programs can call during the lifetime of this object.

    Attributes:
      cell: an array of one int64, the number of the function. Programs read it at run time, so that
        their code is the same in every process.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        args: library.Types,
        results: library.Types,
        in_place: bool = False,
    ) -> None:
        """Registers `fn`, which returns its results or, with `in_place`, writes them to arrays."""
        self.number = next(_numbers)
        self.cell = np.array([self.number], np.int64)
        memory = [[(t.shape, t.dtype, t.nbytes) for t in types] for types in (args, results)]
        caller = _caller_in_place if in_place else _caller
        _host_functions[self.number] = caller(fn, *memory)

    @classmethod
    def of_library(cls, call: library.Call) -> HostFunction:
        """Returns a host function that runs the reference implementation of a library function.

        Raises:
          ValueError: if there is no function with that name.
        """
        reference = library.implementation(call)

        def run(*arrays: np.ndarray) -> library.Results:
            with float_errors.ignored():
                return reference(*arrays)

        return cls(run, call.args, call.results)

    @classmethod
    def of_procedure(cls, call: library.ProcedureCall) -> HostFunction:
        """Returns a host function that runs the function to which a procedure's name refers.

        Raises:
          ValueError: if there is no procedure with that name.
        """
        return cls(call.procedure.function(), call.args, call.results, in_place=True)

    # The global variable may have been deleted at interpreter shutdown.
    def __del__(self, functions: _HostFunctions = _host_functions) -> None:
        functions.pop(self.number, None)


def _view(address: int, shape: tuple[int, ...], dtype: np.dtype, nbytes: int) -> np.ndarray:
    if not nbytes:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)  # type: ignore[call-overload]  # a buffer


def call_host(number: int, slots: int) -> None:
    """Calls Python function `number` for a program.

    Args:
      number: the number of a `HostFunction`.
      slots: the address of an array of the addresses of its operands, then of its results.

    Raises:
      BaseException: any exception of the function or of a signal handler; the program then fails.
    """
    _host_functions[number](slots)


def _caller(
    fn: Callable[..., Any], operands: list[_Memory], results: list[_Memory]
) -> Callable[[int], None]:
    """Returns a function that calls `fn` on its operands and copies the results that it returns."""
    addresses_at = (ctypes.c_size_t * (len(operands) + len(results))).from_address

    def call(slots: int) -> None:
        addresses = addresses_at(slots)
        values = fn(*[_view(addresses[i], *memory) for i, memory in enumerate(operands)])
        for i, (value, memory) in enumerate(zip(values, results, strict=True), len(operands)):
            if memory[2]:
                _view(addresses[i], *memory)[...] = value

    return call


_KEPT_VIEWS = 8  # per call; a loop that swaps its buffers needs two


def _caller_in_place(
    fn: Callable[..., Any], operands: list[_Memory], results: list[_Memory]
) -> Callable[[int], None]:
    """Returns a function that calls `fn` on its operands and the arrays of its results.

    The arrays are cached by address: messages in loops use the same buffers each time, and creating
    arrays takes longer than sending small messages.
    """
    memories = [*operands, *results]
    addresses_at = (ctypes.c_size_t * len(memories)).from_address
    views: dict[tuple[int, ...], list[np.ndarray]] = {}

    def call(slots: int) -> None:
        addresses = tuple(addresses_at(slots))
        arrays = views.get(addresses)
        if arrays is None:
            if len(views) >= _KEPT_VIEWS:  # other threads may have filled it
                views.clear()
            arrays = [_view(at, *memory) for at, memory in zip(addresses, memories, strict=True)]
            views[addresses] = arrays
        fn(*arrays)

    return call


# --- threads --------------------------------------------------------------------------------------


@ctypes.CFUNCTYPE(None)
def _nothing() -> None:
    """Does nothing.

    It is used if the runtime does not count the callers that restrict BLAS to one thread.
    """


_finders: dict[str, Callable[[], int]] = {
    "blas_enter": lambda: blas.address(_nothing),
    "blas_leave": lambda: blas.address(_nothing),
    **{name: partial(blas.function, name) for name in blas.PRODUCTS.values()},
}
