"""Dispatch of traced programs: finds or makes the executable of a program and runs it."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.liveness import live_inputs
from jitney.core.settings import caches, compile_log, config
from jitney.core.types import dtypes
from jitney.core.util.wraps import name_of
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import processes
from jitney.runtime.execution import (
    call_interceptors,
    executable as executables,
    placements,
    signatures,
    slow_programs,
)
from jitney.runtime.execution.assignment import Assignment, assign
from jitney.runtime.execution.executable import Executable, Lowering
from jitney.runtime.native._native import FastFunction, RepeatedFunction, hide_calls, set_on_error

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Builder
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue

# Traced program -> its executable for one assignment, as long as the program is in use. That
# executable holds the executables for other assignments.
_executables: weakref.WeakKeyDictionary[ClosedJaxpr, Executable] = weakref.WeakKeyDictionary()
caches.register(
    "executables", "the traced program; devices, shardings, donation", __name__,
    entries=_executables.__len__, clear=_executables.clear,
)  # fmt: skip
# Native code compares the settings' epoch before it compares signatures.
caches.register(
    "signatures of jitted functions", "types of the arguments", "jitney.runtime.native",
    entries=lambda: 0, clear=config.renew_epochs,
)  # fmt: skip


def executable_of(closed: ClosedJaxpr, name: str, assignment: Assignment) -> Executable:
    """Returns the executable of `closed` for `assignment`, compiled at the first request.

    If the program has operations over a mesh, the executable is for the devices of that mesh.
    """
    assignment = placements.on_its_mesh(closed, assignment)
    if assignment.spans_processes:
        return executables.over_processes(closed, name, assignment)
    executable = _executables.get(closed)
    if executable is None or (
        executable.calls_on_parts and executable.assignment is not assignment
    ):
        placements.check_axes(closed, assignment)
        lowered = lower(closed, name, placements.builder_of_parts(closed, assignment))
        compile_log.starts(name, ", ".join([aval.str_short() for aval in closed.in_avals]))
        with compile_log.step("compilation", name):
            executable = lowered.compile()
        if placements.calls_on_parts(closed.jaxpr):  # cannot be used for another assignment
            executable = executable.assigned(assignment, closed)
            executable.calls_on_parts = True
        _executables[closed] = executable
    executable = executable.assigned(assignment, closed)
    if not executable.is_announced:
        executable.is_announced = True
        placements.tell(closed, assignment)
    return executable


def run(
    closed: ClosedJaxpr,
    leaves: Sequence[Any],
    assignment: Assignment | None = None,
    *,
    keep_unused: bool = True,
    name: str = "main",
) -> list[ArrayImpl]:
    """Returns the results of `closed` on flat operands.

    Args:
      closed: the program.
      leaves: its operands.
      assignment: its devices, shardings and donation; by default, the devices and shardings of the
        operands, without donation.
      keep_unused: whether deleted arrays are errors even as operands that no result depends on.
      name: the name of the program.
    """
    if config.no_execution.value:
        raise RuntimeError(f"jit({name}) cannot be executed, because no_execution is set")
    if not keep_unused and any(map(_is_deleted, leaves)):
        leaves = [
            x if is_live or not _is_deleted(x) else _zeros(aval)
            for x, is_live, aval in zip(
                leaves, live_inputs(closed.jaxpr), closed.in_avals, strict=True
            )
        ]
    if assignment is None:
        requests = placements.or_context_mesh(placements.requests_of(closed))
        assignment = assign(leaves, requests=requests)
    if call_interceptors.features.installed:
        return call_interceptors.intercepted(
            call_interceptors.ProgramCall(closed, leaves, assignment, name),
            lambda: executable_of(closed, name, assignment).run(leaves),
        )
    return executable_of(closed, name, assignment).run(leaves)


def _is_deleted(x: object) -> bool:
    return type(x) is ArrayImpl and x.is_deleted()


def _zeros(aval: AbstractValue) -> np.ndarray:
    return np.zeros(aval.shape, dtypes.physical_dtype(aval.dtype))


def lower(
    closed: ClosedJaxpr, name: str = "main", builder: Callable[[], Builder] | None = None
) -> Lowering:
    """Returns `closed` lowered to tensor IR, with a builder made by `builder`, if it is passed."""
    slow_programs.warn_of(closed, name)
    if processes.joined.world is not None:
        executables.refuse_windows(closed, name)
    with compile_log.step("lowering", name):
        module = lowering.lower(closed, name, builder)
    return Lowering(module, closed.in_avals, closed.out_avals)


class PjitFunction(FastFunction):
    """A jitted function; the name is the one that libraries look for in JAX.

    Calls with a signature seen before are handled natively; others go through `call_slowly`, which
    records their signature if it can.
    """

    def __init__(self, call: Any, fun: Callable[..., Any]) -> None:
        self.call = call
        self.__name__ = self.__qualname__ = name_of(fun)
        self.__annotations__ = {}
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(fun, name):
                setattr(self, name, getattr(fun, name))
        for name, value in getattr(fun, "__dict__", {}).items():
            if not hasattr(self, name):  # attributes that users have set on their function
                setattr(self, name, value)
        self.__wrapped__ = fun

    @api_boundary
    def call_slowly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Returns the result of a call, which is made by Python code."""
        return self.call.call(args, kwargs, self._remember)

    def _remember(
        self,
        signature: signatures.Signature,
        closed: ClosedJaxpr,
        out_tree: PyTreeDef,
        assignment: Assignment,
    ) -> None:
        """Records the signature of a call, so that native code handles the next one."""
        executable = _executables.get(closed)
        if executable is None or not executable.has_only_arrays:
            return
        if config.checks_values() or call_interceptors.any_on():
            return
        self.remember(
            config.call_epoch(),
            signature.patterns,
            signature.names,
            executable_of(closed, executable.name, assignment).native,
            signatures.unflatten_function(out_tree),
            tuple([i for i, gone in enumerate(assignment.donated) if gone]),
        )

    def __init_subclass__(cls) -> None:
        hide_calls(cls)

    def __get__(
        self, instance: object, owner: type | None = None
    ) -> PjitFunction | types.MethodType:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        try:
            return f"<PjitFunction of {self.__wrapped__!r}>"
        except Exception:  # the repr of a user's function may fail
            return "<PjitFunction>"


__all__ = [
    "PjitFunction",
    "RepeatedFunction",
    "executable_of",
    "hide_calls",
    "lower",
    "run",
    "set_on_error",
]
