"""Library functions, which programs call by name: LAPACK, SciPy, reference implementations.

    declare(LibraryFunction("eig", result_types, reference))      in the module of its primitive
    b.library_call("eig", params, [x])                            when a program is lowered
    find("eig")                                                   when it is compiled or loaded

Programs contain names and parameters but no function objects, so they can be printed, parsed,
compared and stored on disk. Names are resolved when a program is compiled or loaded. Each function
has one declaration. The registry is open: a new library is added by a module of declarations.

Names can have a prefix, such as `lapack.`. All names with a prefix can be declared together
(`declare_prefix`), if a call itself defines what the function computes. Nodes of the tensor IR
without kernels are called in this way (`hlo/node_calls.py`). Functions that have effects, and that
write their results to arrays they are passed, are *procedures*. Collectives between processes
(`runtime/distributed/participants.py`) are procedures.
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
# The types of parameters: values that have an exact textual form and can be compared.
Param: TypeAlias = bool | int | float | complex | str | tuple["Param", ...] | None
Params: TypeAlias = tuple[tuple[str, Param], ...]


def params_text(params: Params) -> str:
    """Returns the text of parameters, `{m=3, name='x'}`, with values in Python syntax."""
    return "{" + ", ".join([f"{name}={value!r}" for name, value in params]) + "}"


@record(frozen=True)
class Routine:
    """A library function with its parameters, in order, independent of operands."""

    name: str
    params: Params = ()

    def __str__(self) -> str:
        return f"{self.name}{params_text(self.params)}" if self.params else self.name


def routine(name: str, **params: Param) -> Routine:
    """Returns the library function `name` with parameters `params`."""
    return Routine(name, tuple(params.items()))


@record(frozen=True, eq=False)
class Call:
    """A library call in a program: the function, and the types of its operands and results.

    Attributes:
      local_reference: the reference implementation, if this process has created the call from an
        object that can compute the results. The name refers to the same function; this field is not
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
    """The machine code of a library function, which computes a range of a batch.

        int32 f(ptr call, ptr slots, int64 begin, int64 end)   1 if it succeeded

    `slots` contains the addresses of the options, of the operands, of the results, and of the
    workspace if the function has one. A batch is divided among threads, so the function can run on
    several ranges at the same time.

    Attributes:
      address: returns the address of the function for a dtype of the first operand.
      computes: returns whether it supports operands of given types (*types, **params).
      options: returns its options, as int64s, given the parameters.
      rank: the rank of an item of the first operand; the axes before it are batch axes.
      items: returns the number of items (*types, **params), if it is not the batch size.
      workspace: returns the bytes of workspace per item (*types, **params); that of item i begins
        at `i` times this number. None if the function needs no workspace.
      uses_blas: whether it calls BLAS, which then runs on one thread unless the work of an item is
        large.
      divides: the dtypes of the first operand for which the function itself divides an item among
        the runtime's threads; BLAS then always runs on one thread.
      together: the number of items that it computes together; a thread's share is a multiple of it.
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


# The assumed operations of a call whose work is unknown: enough for it to release the GIL.
_MUCH = 1 << 30


@record(frozen=True, eq=False)
class LibraryFunction:
    """The declaration of a library function.

    Attributes:
      name: the unique name by which programs call it.
      result_types: returns the types of the results (*types, **params).
      reference: computes the results with NumPy and SciPy (*arrays, **params). Compiled programs
        call it if there is no machine code.
      native: its machine code, or None.
      work: returns the approximate number of operations for one item (*types, **params), which
        determines how a batch is divided among threads.
      operations: returns the floating-point operations of a call by the textbook algorithm (*types,
        **params); None if `work` is a good estimate.
      updates: whether its only result is its first operand with some elements changed, which can be
        computed in the memory of that operand.
      item_rank: the rank of an item of the first operand, if the preceding axes are batch axes that
        all operands and results start with, and items are computed independently; otherwise None.
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
    """Registers a library function and returns it.

    Raises:
      ValueError: if the name is already registered.
    """
    return _functions.declare(function.name, function)


def declare_prefix(prefix: str, implementation: Callable[[Call], Implementation]) -> None:
    """Registers all library functions whose names begin with `prefix` and a dot.

    Args:
      prefix: prefix of the names.
      implementation: returns, for a call, the function that computes its results from arrays.
    """
    _prefixes[prefix] = implementation


def names() -> list[str]:
    """Returns the names of all library functions that are declared individually."""
    return list(_functions)


def is_declared(name: str) -> bool:
    """Returns whether a library function `name` is declared."""
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
    """Returns whether the library function `name` updates its first operand."""
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
    """Returns the result types of a library function for operands of types `types`."""
    return tuple(find(routine.name).result_types(*types, **dict(routine.params)))


# --- procedures -----------------------------------------------------------------------------------


@record(frozen=True)
class Procedure:
    """A named function with effects, which writes its results to arrays that it is passed.

    Calling it calls the function to which the name refers in this process. Unlike calls of Python
    functions, host calls of procedures can be stored on disk.

    Attributes:
      routines: the steps of the procedure, each of which is called with all arrays.
    """

    routines: tuple[Routine, ...]

    def __call__(self, *arrays: Array) -> None:
        self.function()(*arrays)

    def function(self) -> Effect:
        """Returns the function to which the names refer.

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
    """A call of a procedure in a program, with the types of its operands and results."""

    procedure: Procedure
    args: tuple[TensorType, ...]
    results: tuple[TensorType, ...]


_procedures: dict[str, Callable[[Routine], Effect]] = {}


def declare_procedures(prefix: str, effect: Callable[[Routine], Effect]) -> None:
    """Registers all procedures whose names begin with `prefix` and a dot.

    Args:
      prefix: prefix of the names.
      effect: returns the function to which a routine refers in this process; raises ValueError if
        there is none.
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
    """How a library call in a program calls machine code.

    Attributes:
      symbol: the symbol that programs call.
      options: the options, as int64s.
      batch: the number of items.
      grain: the number of items for which a thread pays off.
      keeps_to_one_thread: whether BLAS is restricted to one thread.
      workspace: the bytes of memory that it needs besides operands and results.
      work: the approximate number of operations for all items, which decides whether the GIL is
        released.
      operations: the number of floating-point operations for all items, for estimates and profiles.
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
    """Returns the call of machine code for `call`, or None if there is no machine code."""
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
    from jitney.compiler.cost import COSTS  # imported late: `import jitney` does not need it

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
