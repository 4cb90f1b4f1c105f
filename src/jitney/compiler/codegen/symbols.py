"""Functions that compiled programs call by address: BLAS, LAPACK, threads, and Python.

The runtime enters its own (`register_symbol`); BLAS and LAPACK are looked for here. A Python function
is called by number: the runtime's "host" calls `call_host`.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler import blas, lapack

if TYPE_CHECKING:
    from jitney.compiler.plan import ir

_host_calls: dict[int, ir.HostCall] = {}
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
        found = _symbols[name] = lapack.find(name) or _finders[name]()
    return found


# --- Python functions -----------------------------------------------------------------------------


def register(step: ir.HostCall) -> int:
    """Makes a Python function callable; returns its number."""
    number = next(_numbers)
    _host_calls[number] = step
    return number


class Registration:
    """Keeps a Python function callable for as long as it lives."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        if _host_calls is not None:  # the module may be gone when the interpreter shuts down
            _host_calls.pop(self.number, None)


def _view(address: int, shape: tuple[int, ...], dtype: np.dtype, nbytes: int) -> np.ndarray:
    if not nbytes:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)  # type: ignore[call-overload]  # a buffer


def call_host(number: int, slots: int) -> None:
    """Calls Python function `number` for a program.

    Args:
      number: as `register` gave it.
      slots: address of the addresses of its operands, then of its results.

    Raises:
      BaseException: what the function, or a handler of a signal, raises: the program then fails.
    """
    step = _host_calls[number]
    pointers = ctypes.cast(slots, ctypes.POINTER(ctypes.c_void_p))
    n = len(step.args)
    args = [
        _view(pointers[i] or 0, t.shape, t.dtype, t.nbytes) for i, (_, t) in enumerate(step.args)
    ]
    results = step.fn(*args)
    for i, (value, (_, t)) in enumerate(zip(results, step.results, strict=True)):
        if t.nbytes:
            _view(pointers[n + i] or 0, t.shape, t.dtype, t.nbytes)[...] = value


# --- threads --------------------------------------------------------------------------------------


@ctypes.CFUNCTYPE(None)
def _nothing() -> None:
    """Stands in where the runtime does not count who keeps BLAS to one thread."""


_finders: dict[str, Callable[[], int]] = {
    "blas_enter": lambda: blas.address(_nothing),
    "blas_leave": lambda: blas.address(_nothing),
    **{name: partial(blas.function, name) for name in blas.PRODUCTS.values()},
}
