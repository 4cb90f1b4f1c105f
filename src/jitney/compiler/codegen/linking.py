"""Compiled programs, and the symbols with which their code is linked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler import library
from jitney.compiler.codegen import symbols
from jitney.compiler.hlo import node_calls as node_calls  # declares the functions `reference.*`
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.input_output_alias import InputOutputAlias
from jitney.compiler.llvm import engine
from jitney.core.util.record import field, record


@record
class Links:
    """The symbols with which the code of a program is linked.

    Attributes:
      natives: the names of the runtime's functions.
      constants: the data that the program reads, by the names of their symbols.
      kernels: for each kernel in another module, by its name in the program, the code of that
        module and the name of the kernel in it.
      library_calls: the calls of library functions without machine code, by the names of the
        symbols that hold their numbers.
      procedures: the calls of library procedures, keyed in the same way.
      callbacks: the Python callbacks, keyed in the same way. A program with callbacks can only run
        in this process.
    """

    natives: Sequence[str]
    constants: dict[str, np.ndarray]
    kernels: dict[str, tuple[engine.Code, str]]
    library_calls: dict[str, library.Call]
    procedures: dict[str, library.ProcedureCall]
    callbacks: dict[str, symbols.HostFunction]
    _references: dict[str, symbols.HostFunction] = field(default_factory=dict)

    @property
    def calls_python(self) -> bool:
        """Whether the program calls Python functions."""
        return bool(self.callbacks or self.library_calls or self.procedures)

    @property
    def constant_bytes(self) -> int:
        """The size of all constants in bytes."""
        return sum([x.nbytes for x in self.constants.values()])

    def addresses(self) -> dict[str, int]:
        """Returns the address of each symbol.

        Raises:
          ValueError: if a library function or procedure does not exist.
        """
        for name, call in self.library_calls.items():
            self._references[name] = symbols.HostFunction.of_library(call)
        for name, call in self.procedures.items():
            self._references[name] = symbols.HostFunction.of_procedure(call)
        called = {**self.callbacks, **self._references}
        addresses = {f"jitney.{name}": symbols.symbol(name) for name in self.natives}
        addresses.update({name: data.ctypes.data for name, data in self.constants.items()})
        addresses.update({name: code.address(at) for name, (code, at) in self.kernels.items()})
        addresses.update({name: function.cell.ctypes.data for name, function in called.items()})
        return addresses


class CompiledProgram:
    """The machine code of a program.

    Attributes:
      entry: the address of `i32 entry(ptr call, ptr inputs, ptr outputs, ptr arena)`.
      arena_bytes: the memory that a call needs besides inputs and outputs.
      inputs, outputs: the types of operands and results.
      releases_gil: whether a call can take so long that it should release the GIL.
      alias: the pairs of an input and an output that can share memory.
      code_bytes: the size of the code that is not shared with other programs.
      links: the symbols with which its code is linked.
      timings: the seconds that each stage of compilation took.
    """

    def __init__(
        self,
        code: engine.Code,
        links: Links,
        arena_bytes: int,
        inputs: Sequence[TensorType],
        outputs: Sequence[TensorType],
        releases_gil: bool,
        alias: InputOutputAlias,
        keep_alive: Sequence[Any],
    ) -> None:
        self.entry = code.address("entry")
        self.code = code
        self.links = links
        self.arena_bytes = arena_bytes
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.releases_gil = releases_gil
        self.alias = alias
        self.timings: dict[str, float] = {}
        self.code_bytes = code.size
        self._keep_alive = keep_alive

    def reused(self, seconds: float) -> CompiledProgram:
        """Returns this code as the compiled program of another program with equal text.

        `seconds` is the time that the lookup took.
        """
        program = copy.copy(self)
        program.timings = {"lookup": seconds}
        return program
