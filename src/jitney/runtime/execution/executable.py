"""Executables: compiled programs for given devices, which can be called on arrays."""

# `ArrayImpl._data` and `_value` are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from jitney.core.recording.compat import Token
from jitney.core.settings import caches, config
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.trace import Tracer, escaped_tracer_error
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, abstract_token, host_values
from jitney.core.util.record import record
from jitney.runtime.arrays.array import ArrayImpl, memory_shape
from jitney.runtime.arrays.donation import aliases, place_of_call
from jitney.runtime.compilation import compiling
from jitney.runtime.compilation.lazy_compiler import compiler
from jitney.runtime.devices import windows
from jitney.runtime.devices.client import host_client, live_executables
from jitney.runtime.execution import debug_checks, placements
from jitney.runtime.execution.assignment import Assignment, assign
from jitney.runtime.native._native import Buffer, Call, Program, Queue, data_to_come

if TYPE_CHECKING:
    from jitney.compiler.codegen import linking
    from jitney.compiler.hlo import ir
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.runtime.execution.process_programs import ProcessProgram


@record(frozen=True)
class MemoryAnalysis:
    """The sizes in bytes of the memory that one call of a program uses."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    alias_size_in_bytes: int
    generated_code_size_in_bytes: int

    # The device is the host, whose memory is counted once.
    host_argument_size_in_bytes = 0
    host_output_size_in_bytes = 0
    host_temp_size_in_bytes = 0
    host_alias_size_in_bytes = 0
    host_generated_code_size_in_bytes = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """An upper bound of the memory in use at one time.

        It is the size of arguments, results and temporaries, minus the size of results that are
        stored in donated arguments.
        """
        sizes = self.argument_size_in_bytes + self.output_size_in_bytes + self.temp_size_in_bytes
        return sizes - self.alias_size_in_bytes


class Executable:
    """A compiled program that takes and returns flat sequences of arrays, for one assignment.

    `places` has the shardings of its results; None if all operands are uncommitted.
    Executables of one program for several assignments share its machine code.
    """

    def __init__(
        self,
        name: str,
        program: linking.CompiledProgram,
        in_avals: Sequence[AbstractValue],
        out_avals: Sequence[AbstractValue],
        assignment: Assignment,
        places: tuple[Sharding | None, ...] | None = None,
        first: Executable | None = None,
    ) -> None:
        self.name = name
        self.program = program
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.assignment = assignment
        self.calls_on_parts = False  # whether it serves only this assignment
        self.is_announced = False  # whether observers of placements have been called
        self.of_process: ProcessProgram | None = None  # of several processes
        self.module: ir.Module | None = None  # the program in tensor IR, where it is kept
        # The first executable of the program holds those for other assignments, which refer to it
        # weakly, so that its constants are freed with the last reference, not by the collector.
        self._first = None if first is None else weakref.ref(first)
        self._others: dict[Assignment, Executable] = {}
        self._inputs = _all_in_memory(program.inputs, self.in_avals)
        self._outputs = _all_in_memory(program.outputs, self.out_avals)
        self.in_dtypes = tuple([dtype for dtype, _ in self._inputs])
        lies_in = self.aliases(assignment.donated)
        self.has_only_arrays = all(map(_is_of_array, self.out_avals))
        self.native = Program(
            program.entry,
            len(self.in_avals),
            self._outputs,
            self.out_avals
            if places is None
            else tuple(map(explicit.typed, self.out_avals, places)),
            program.arena_bytes,
            program.releases_gil,
            windows.first_of(assignment.devices),
            assignment.queue,
            places,
            lies_in if any(i >= 0 for i in lies_in) else None,
            program,
            program.links.calls_python,
        )
        live_executables.add(self)

    @property
    def timings(self) -> dict[str, float]:
        """The seconds that each stage of compilation took."""
        return self.program.timings

    def assigned(self, assignment: Assignment, closed: ClosedJaxpr) -> Executable:
        """Returns the executable of the same program, `closed`, for another assignment."""
        if assignment is self.assignment:
            return self
        if assignment.spans_processes:
            return over_processes(closed, self.name, assignment)
        if assignment == self.assignment:
            return self
        first = None if self._first is None else self._first()
        if first is not None:
            return first.assigned(assignment, closed)
        executable = self._others.get(assignment)
        if executable is None:
            executable = Executable(
                self.name, self.program, self.in_avals, self.out_avals, assignment,
                placements.of_results(closed, assignment), self,
            )  # fmt: skip
            self._others[assignment] = executable
        return executable

    def run(self, leaves: Sequence[Any]) -> list[ArrayImpl]:
        """Returns the results of the program on arrays, NumPy arrays or scalars of its types."""
        donated = self.assignment.donated
        given_to = None
        if donated:
            _check_donated_once(leaves, donated)
            given_to = place_of_call(self.name)
        native, queue, of_process = self.native, self.native.queue, self.of_process
        operands = leaves if of_process is None else of_process.on_its_mesh(leaves)
        needs: list[Call] | None = [] if self._may_defer(leaves) else None
        inputs = [
            _data_to_come(x, dtype, queue, needs) if type(x) is ArrayImpl else host_data(x, dtype)
            for x, dtype in zip(operands, self.in_dtypes, strict=True)
        ]
        results: list[Any]
        # The call is not bound to a name: if it fails, the frame in the error's traceback would keep it
        # alive, and the call keeps the error alive.
        if of_process is None:
            # With checks of values, operands stay valid: a failing program is evaluated again on
            # them.
            donors = [] if config.checks_values() else _buffers(leaves, donated)
            for donor in filter(None, donors):
                donor.given_to = given_to
            if needs is not None and (needs or native.takes_long):
                place = given_to or place_of_call(self.name)
                results = native.defer(inputs, needs, donors, place)
            else:
                results = queue.enqueue(native.prepare(inputs, donors)).complete()
        else:
            inputs = of_process.windows_of(inputs)
            with of_process.meeting_others():
                results = queue.enqueue(native.prepare(inputs)).complete()
            results = of_process.where_wanted(results)
        if config.checks_values():
            debug_checks.check_results(f"jit({self.name})", results)
        if not self.has_only_arrays:
            results = [
                x if _is_of_array(aval) else _without_array(aval)
                for x, aval in zip(results, self.out_avals, strict=True)
            ]
        for x, is_donated in zip(leaves, donated, strict=False):
            if is_donated and isinstance(x, ArrayImpl):
                for buffer in x._buffers:
                    buffer.given_to = given_to
                x.delete()
        return results

    def _may_defer(self, leaves: Sequence[Any]) -> bool:
        """Returns whether a call may run after it has returned, as its operands cannot change."""
        return (
            self.of_process is None
            and self.native.is_deferrable_now
            and not config.checks_values()
            and all([type(x) in _IMMUTABLE or isinstance(x, np.generic) for x in leaves])
        )

    def aliases(self, donated: Sequence[bool]) -> tuple[int, ...]:
        """Returns the input that each output aliases with this donation; see `donation.aliases`."""
        return aliases(self.program.alias, self._inputs, self._outputs, donated)

    def memory_analysis(self, donated: Sequence[bool]) -> MemoryAnalysis:
        """Returns the sizes of arguments, results, temporaries and code, for a given donation."""
        program = self.program
        lies_in = self.aliases(donated)
        return MemoryAnalysis(
            argument_size_in_bytes=sum(t.nbytes for t in program.inputs),
            output_size_in_bytes=sum(t.nbytes for t in program.outputs),
            temp_size_in_bytes=program.arena_bytes,
            alias_size_in_bytes=sum(
                [t.nbytes for t, i in zip(program.outputs, lies_in, strict=True) if i >= 0]
            ),
            generated_code_size_in_bytes=program.code_bytes,
        )


def constants_of(closed: ClosedJaxpr) -> Iterator[Value]:
    """Yields the known constants of a program and of all programs nested in it."""
    programs: list[Jaxpr] = [closed]
    while programs:
        program = programs.pop()
        yield from program.known_consts
        programs += subjaxprs(program)


def refuse_windows(closed: ClosedJaxpr, name: str) -> None:
    """Raises RuntimeError if `closed` captures an array of which this process has only a window."""
    for x in constants_of(closed):
        if type(x) is ArrayImpl and windows.is_global(x):
            raise RuntimeError(
                f"jit({name}) closes over {x.aval.str_short()}, which is sharded over devices of "
                f"several processes by {x.placement}; pass such arrays as arguments"
            )


# This process's executables of programs over several processes.
_over_processes: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Assignment, Executable]]
_over_processes = weakref.WeakKeyDictionary()
caches.register(
    "executables over several processes", "the traced program; devices, shardings, donation",
    __name__, entries=lambda: sum(map(len, _over_processes.values())), clear=_over_processes.clear,
)  # fmt: skip


def over_processes(closed: ClosedJaxpr, name: str, assignment: Assignment) -> Executable:
    """Returns this process's share of `closed`, a program on devices of several processes.

    The share is compiled at the first request.

    Raises:
      ValueError: if the program cannot be partitioned among the processes, or if other processes
        compile another program.
    """
    known = _over_processes.setdefault(closed, {})
    executable = known.get(assignment)
    if executable is None:
        from jitney.compiler import lower
        from jitney.runtime.execution import process_programs

        refuse_windows(closed, name)
        module = lower.lower(closed, name)
        part = process_programs.build(module, closed, name, assignment)
        executable = Executable(
            name, part.compiled, closed.in_avals, closed.out_avals, assignment, part.places
        )
        executable.of_process = part
        known[assignment] = executable
    return executable


def _is_of_array(aval: AbstractValue) -> bool:
    """Returns whether values of the type are arrays, not tokens or tangents of integers."""
    return aval is not abstract_token and getattr(aval, "dtype", None) != dtypes.float0


def _without_array(aval: AbstractValue) -> Token | np.ndarray:
    """Returns the value of a type that has no data: a token, or a float0 array."""
    return Token() if aval is abstract_token else np.zeros(aval.shape, dtypes.float0)


def _in_memory(stored: ir.TensorType, aval: AbstractValue) -> tuple[np.dtype, tuple[int, ...]]:
    """Returns (dtype, shape) of the ndarray of an operand or result.

    For key arrays these are the dtype and shape of keys, not of their words.
    """
    if isinstance(aval, ShapedArray) and dtypes.words_of_key(aval.dtype):
        return dtypes.physical_dtype(aval.dtype), memory_shape(stored.shape[: len(aval.shape)])
    return stored.dtype, memory_shape(stored.shape)


def _buffers(leaves: Sequence[Any], donated: Sequence[bool]) -> list[Buffer | None]:
    """Returns the buffers of donated operands, None for others; empty if none is donated."""
    return [
        x._buffers[0] if is_donated and isinstance(x, ArrayImpl) else None
        for x, is_donated in zip(leaves, donated, strict=False)
    ]


def _all_in_memory(
    stored: Sequence[ir.TensorType], avals: Sequence[AbstractValue]
) -> list[tuple[np.dtype, tuple[int, ...]]]:
    return [_in_memory(t, aval) for t, aval in zip(stored, avals, strict=True)]


def _check_donated_once(leaves: Sequence[Any], donated: Sequence[bool]) -> None:
    uses = Counter(map(id, leaves))
    for i, (x, is_donated) in enumerate(zip(leaves, donated, strict=True)):
        if is_donated and isinstance(x, ArrayImpl) and uses[id(x)] > 1:
            raise JaxRuntimeError(
                f"Attempt to donate a buffer that is used twice: flat argument {i} is also passed "
                "as another argument"
            )


# Types of operands that cannot change after a call has returned, besides NumPy's scalars.
_IMMUTABLE = frozenset([ArrayImpl, bool, int, float, complex])


def _data_to_come(
    x: ArrayImpl, dtype: np.dtype, queue: Queue, needs: list[Call] | None
) -> np.ndarray:
    """Returns the result of `host_data`; calls of `queue` are added to `needs`, not waited for.

    If `needs` is None, all calls are waited for.
    """
    if needs is not None:
        value = data_to_come(x, queue, needs)
        if value is not None and value.dtype == dtype and value.flags.c_contiguous:
            return value
    return host_data(x, dtype)


def host_data(x: Value, dtype: np.dtype) -> np.ndarray:
    """Returns the contiguous data of an operand, as `dtype`.

    Raises:
      UnexpectedTracerError: if `x` is a tracer, as its trace must have ended.
      RuntimeError: if `x` was deleted or donated.
    """
    if isinstance(x, ArrayImpl):
        value = x._data()
    elif isinstance(x, Tracer):
        raise escaped_tracer_error(x)
    else:
        convert = getattr(x, "__jax_array__", None)
        if convert is not None:
            return host_data(convert(), dtype)
        if type(x) in host_values:
            return host_data(host_values[type(x)](x), dtype)
        value = np.asarray(x)
    if value.dtype != dtype:
        value = value.astype(dtype)
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


@record
class Lowering:
    """A program in tensor IR, to be inspected or compiled."""

    module: ir.Module
    in_avals: Sequence[AbstractValue]
    out_avals: Sequence[AbstractValue]
    _executable: Executable | None = None

    def as_text(self, stage: str = "hlo") -> str:
        """Returns the program as text.

        Args:
          stage: "hlo" (as lowered), "optimized", "kernels", "llvm" or "asm".

        Raises:
          ValueError: if there is no such stage.
        """
        return compiler().as_text(self.module, stage)

    def cost_analysis(self) -> dict[str, float]:
        """Returns estimates of "flops" and "bytes accessed"."""
        return compiler().cost_analysis(self.module)

    def is_exact(self) -> bool:
        """Returns whether compiled code is bit-identical to NumPy, operation by operation."""
        from jitney.compiler.hlo.exact import is_exact

        return is_exact(self.module.region)

    def compile(self) -> Executable:
        """Returns the executable for the default device, compiled once, or loaded from disk."""
        if self._executable is None:
            program = compiling.backend_compile_and_load(host_client(), self.module)
            self._executable = Executable(
                self.module.name, program, self.in_avals, self.out_avals, assign(())
            )
            self._executable.module = self.module
        return self._executable
