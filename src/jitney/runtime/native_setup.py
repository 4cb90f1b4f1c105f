"""Connects the native core to the Python side of the runtime when the package is imported."""

from __future__ import annotations

import os
import threading
import types
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from jitney.compiler import blas, lapack, sorting
from jitney.compiler.reference import scalar, threefry
from jitney.core.settings import config
from jitney.core.sharding.mesh import context_meshes
from jitney.core.tracing.trace import state
from jitney.core.util import float_errors
from jitney.runtime.arrays import elementwise
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device, thread_count
from jitney.runtime.execution import async_dispatch
from jitney.runtime.native import _native

_NATIVE_OPERATORS = ("__add__", "__sub__", "__mul__", "__radd__", "__rsub__", "__rmul__")


def install(operators: type) -> None:
    """Prepares native code.

    Args:
      operators: a class whose methods do arithmetic where native code cannot: on operands other
        than two arrays of one type or an array and a Python scalar, and under transformations.
    """
    _find_devices_by(client.only_default_device)
    config.device_choice.installs(partial(_find_devices_by, client.default_device))
    if float_errors.quiet is not None:
        _native.use_error_state(float_errors.variable, float_errors.quiet)
    config.enable_x64.listen(lambda is_on: _native.use_wide_scalars() if is_on else None)
    for option in (config.debug_nans, config.debug_infs):
        option.listen(lambda is_on: _native.check_values() if is_on else None)
    for option in (config.transfer_guard_host_to_device, config.transfer_guard_device_to_device):
        option.listen(lambda mode: None if mode in (None, "allow") else _native.check_values())
    config.debug_key_reuse.listen(lambda is_on: _native.watch_keys() if is_on else None)
    context_meshes.listen(_native.set_context_meshes)
    for name in _NATIVE_OPERATORS:
        _native.set_operator(name, getattr(operators, name))
    _native.set_main_thread(threading.main_thread().ident or 0)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _native.set_main_thread(threading.get_ident()))
    _native.keep_freed_memory()
    async_dispatch.install()
    if thread_count() > 1:
        scalar.use_threads(elementwise.apply_ufunc)
    threefry.use_rounds(_native.threefry)
    lapack.use_native(
        lambda which, dtype: _factorizations().address(which, dtype),
        lambda dtype, routine, address: _factorizations().set_lapack(dtype, routine, address),
        _run_over_batch,
    )
    sorting.use_native(_native.sort_address, _run_over_batch)
    blas.use_guard(_native.blas_enter, _native.blas_leave, _native.blas_add)


def _find_devices_by(default_device: Callable[[], Device]) -> None:
    """Registers `default_device`, which native code calls for the device of uncommitted arrays."""
    _native.configure(state, state.eval_trace, ArrayImpl, config.call_epoch, default_device)
    _native.use_device(None)


@cache
def _factorizations() -> types.ModuleType:
    from jitney.runtime.native import _factorize  # loaded when a matrix is factorized

    _factorize.use_loop(_native.parallel_for_address())
    return _factorize


def _run_over_batch(*args: Any) -> None:
    client.default_device().pool.run_over_batch(*args)
