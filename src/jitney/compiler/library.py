"""Functions of libraries, which programs call by name: LAPACK, SciPy, reference implementations.

    declare(LibraryFunction("eig", result_types, reference))      beside its primitive
    b.library_call("eig", params, [x])                            when a program is lowered
    find("eig")                                                   when it is compiled, or loaded

Programs contain names and parameters, never functions, so that they can be printed, parsed,
compared and kept on disk; names are resolved when a program is compiled or loaded. Each function
has one declaration, and the registry is open: a new library is a module with declarations.

Names may have a prefix, `lapack.`. A prefix can be declared for all names that begin with it
(`declare_prefix`), for functions whose calls state what they compute; nodes of the tensor IR
without kernels are called so (`hlo/node_calls.py`). Functions that have effects, and write to the
arrays of their results, are *procedures*: collectives between processes
(`runtime/distributed/participants.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np

from jitney.compiler.tensor_type import TensorType
from jitney.core.util.declarations import Table
from jitney.core.util.record import record

Array: TypeAlias = np.ndarray
Types: TypeAlias = Sequence[TensorType]
Results: TypeAlias = Sequence[Array]
Implementation: TypeAlias = Callable[..., Results]
Effect: TypeAlias = Callable[..., None]
# Types of parameters: values that have an exact text, and can be compared.
Param: TypeAlias = bool | int | float | complex | str | tuple["Param", ...] | None
Params: TypeAlias = tuple[tuple[str, Param], ...]


def params_text(params: Params) -> str:
    """Returns parameters as text, `{m=3, name='x'}`, with values as Python writes them."""
    return "{" + ", ".join([f"{name}={value!r}" for name, value in params]) + "}"


@record(frozen=True)
class Routine:
    """A function to call, independent of operands: its name, and its parameters in order."""

    name: str
    params: Params = ()

    def __str__(self) -> str:
        return f"{self.name}{params_text(self.params)}" if self.params else self.name


def routine(name: str, **params: Param) -> Routine:
    """Returns the library function `name` with parameters."""
    return Routine(name, tuple(params.items()))


@record(frozen=True, eq=False)
class Call:
    """One call in a program: the function, and the types of operands and results.

    Attributes:
      local_reference: the reference implementation, if the call was made in this process from something
        that computes the results. The name stands for the same function; this one is not
        serialized.
    """

    routine: Routine
    args: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    local_reference: Implementation | None = None

    @property
    def name(self) -> str:
        return self.routine.name


@record(frozen=True, eq=False)
class NativeCode:
    """Machine code of a library function, which computes a range of a batch.

        int32 f(ptr call, ptr slots, int64 begin, int64 end)   1 if it succeeded

    `slots` has the addresses of the options, of the operands, of the results, and of the workspace
    if the function has one. Threads divide a batch, so it may run for several ranges at once.

    Attributes:
      address: returns the address of the function for a dtype of the first operand.
      computes: whether it supports operands of these types (*types, **params).
      options: returns its options, int64s, from the parameters.
      rank: rank of an item of the first operand; the axes before are the batch.
      items: number of items (*types, **params), if it is not the batch size.
      workspace: bytes for each item (*types, **params); item i uses those that begin at `i` times
        this number. None if it needs no workspace.
      uses_blas: whether it calls BLAS, which then runs on one thread unless an item is much work.
      divides: dtypes of the first operand for which it divides one item among the runtime's threads
        itself; BLAS then keeps to one thread, however much work that is.
      together: number of items that it computes at once; a thread's share is a multiple of it.
    """

    address: Callable[[np.dtype], int]
    computes: Callable[..., bool]
    options: Callable[..., Sequence[int]]
    rank: int = 2
    items: Callable[..., int] | None = None
    workspace: Callable[..., int] | None = None
    uses_blas: bool = False
    divides: frozenset[np.dtype] = frozenset()
    together: int = 1


def _unknown_work(*types: TensorType, **params: Param) -> int:
    return _MUCH


# Assumed operations of a call of unknown work: enough that it releases the GIL.
_MUCH = 1 << 30


@record(frozen=True, eq=False)
class LibraryFunction:
    """The declaration of one library function.

    Attributes:
      name: the unique name by which programs call it.
      result_types: types of the results (*types, **params).
      reference: computes the results by NumPy and SciPy (*arrays, **params). The running program
        calls it where there is no machine code.
      native: machine code, if there is any.
      work: approximate operations for one item of a batch (*types, **params), by which threads
        divide a batch.
      operations: floating-point operations of a call, by the textbook algorithm (*types, **params);
        None if they are about `work`.
      updates: whether its only result is its first operand with some elements changed, and can be
        computed in the memory of that operand.
      item_rank: rank of an item of the first operand, if all operands and results have the axes
        before it in front: a batch, whose items are computed independently.
    """

    name: str
    result_types: Callable[..., Sequence[TensorType]]
    reference: Implementation
    native: NativeCode | None = None
    work: Callable[..., int] = _unknown_work
    operations: Callable[..., float] | None = None
    updates: bool = False
    item_rank: int | None = None


_functions: Table[LibraryFunction] = Table("library function")
_prefixes: dict[str, Callable[[Call], Implementation]] = {}


def declare(function: LibraryFunction) -> LibraryFunction:
    """Registers a function, and returns it.

    Raises:
      ValueError: if the name is already registered.
    """
    return _functions.declare(function.name, function)


def declare_prefix(prefix: str, implementation: Callable[[Call], Implementation]) -> None:
    """Registers all functions whose names begin with `prefix` and a dot.

    Args:
      prefix: prefix of the names.
      implementation: returns for a call the function that computes its results from arrays.
    """
    _prefixes[prefix] = implementation


def names() -> list[str]:
    """Returns the names of all functions that were declared individually."""
    return list(_functions)


def is_declared(name: str) -> bool:
    """Returns whether there is a function `name`."""
    return name in _functions


def find(name: str) -> LibraryFunction:
    """Returns the function `name`.

    Raises:
      ValueError: if it is not declared.
    """
    function = _functions.get(name)
    if function is None:
        raise ValueError(f"unknown library function {name}")
    return function


def is_update(name: str) -> bool:
    """Returns whether the function `name` updates its first operand."""
    function = _functions.get(name)
    return function is not None and function.updates


def implementation(call: Call) -> Implementation:
    """Returns the reference implementation of a call, as a function of arrays.

    Raises:
      ValueError: if the function is not declared.
    """
    if call.local_reference is not None:
        return call.local_reference
    prefix = _prefixes.get(call.name.partition(".")[0])
    if prefix is not None:
        return prefix(call)
    reference, params = find(call.name).reference, dict(call.routine.params)
    return lambda *arrays: reference(*arrays, **params)


def result_types(routine: Routine, types: Types) -> tuple[TensorType, ...]:
    """Returns the result types of a function for operands of `types`."""
    return tuple(find(routine.name).result_types(*types, **dict(routine.params)))


# --- procedures -----------------------------------------------------------------------------------


@record(frozen=True)
class Procedure:
    """A function with effects, known by name, which writes its results to arrays it is passed.

    Calling it calls the function that the name stands for in this process. Host calls of
    procedures, unlike those of users' functions, can be kept on disk.

    Attributes:
      routines: the steps, each of which is called with all of the arrays.
    """

    routines: tuple[Routine, ...]

    def __call__(self, *arrays: Array) -> None:
        self.function()(*arrays)

    def function(self) -> Effect:
        """Returns the function that the names stand for.

        Raises:
          ValueError: if a procedure is not declared in this process.
        """
        effects = [_effect(routine) for routine in self.routines]
        if len(effects) == 1:
            return effects[0]

        def run(*arrays: Array) -> None:
            for effect in effects:
                effect(*arrays)

        return run


@record(frozen=True, eq=False)
class ProcedureCall:
    """One call in a program: the procedure, and the types of operands and results."""

    procedure: Procedure
    args: tuple[TensorType, ...]
    results: tuple[TensorType, ...]


_procedures: dict[str, Callable[[Routine], Effect]] = {}


def declare_procedures(prefix: str, effect: Callable[[Routine], Effect]) -> None:
    """Registers all procedures whose names begin with `prefix` and a dot.

    Args:
      prefix: prefix of the names.
      effect: returns for a routine the function that it stands for in this process; raises
        ValueError if there is none.
    """
    _procedures[prefix] = effect


def _effect(routine: Routine) -> Effect:
    find_effect = _procedures.get(routine.name.partition(".")[0])
    if find_effect is None:
        raise ValueError(f"unknown procedure {routine.name}")
    return find_effect(routine)


# --- machine code ---------------------------------------------------------------------------------


@record(frozen=True, eq=False)
class NativeCall:
    """How one call of a program calls machine code.

    Attributes:
      symbol: the symbol that programs call.
      options: the options, int64s.
      batch: number of items.
      grain: number of items that are enough for a thread.
      keeps_to_one_thread: whether BLAS is restricted to one thread.
      workspace: bytes of memory besides operands and results.
      work: approximate operations of all items.
      operations: floating-point operations of all items.
    """

    symbol: str
    options: Array
    batch: int
    grain: int
    keeps_to_one_thread: bool
    workspace: int
    work: int
    operations: float


def native_call(call: Call) -> NativeCall | None:
    """Returns how machine code is called for `call`, or None if there is none."""
    function = _functions.get(call.name)
    native = None if function is None else function.native
    params = dict(call.routine.params)
    if function is None or native is None or not native.computes(*call.args, **params):
        return None
    first = call.args[0]
    if native.items is not None:
        batch = native.items(*call.args, **params)
    else:
        batch = math.prod(first.shape[: first.rank - native.rank])
    from jitney.compiler.cost import COSTS  # late: importing jitney does not need it

    work, counted = function.work(*call.args, **params), function.operations
    alone = batch > 1 or work < COSTS.blas_threads_above or first.dtype in native.divides
    grain = max(COSTS.parallel_above // (2 * work), 1)
    return NativeCall(
        symbol=f"{call.name}.{first.dtype.name}",
        options=np.array([int(n) for n in native.options(**params)], np.int64),
        batch=batch,
        grain=-(-grain // native.together) * native.together,
        keeps_to_one_thread=native.uses_blas and alone,
        workspace=0 if native.workspace is None else batch * native.workspace(*call.args, **params),
        work=batch * work,
        operations=batch * work if counted is None else float(counted(*call.args, **params)),
    )


def address(symbol: str) -> int:
    """Returns the address of the machine code that programs call as `symbol`.

    Raises:
      ValueError: if there is none.
    """
    name, _, dtype = symbol.rpartition(".")
    native = find(name).native
    if native is None:
        raise ValueError(f"the library function {name} has no machine code")
    return native.address(np.dtype(dtype))


def is_plain(value: object) -> bool:
    """Returns whether `value` is a valid parameter; see `Param`."""
    if _is_tuple(value):
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, complex, str)


def _is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    return isinstance(value, tuple)
