"""Compilation of public library functions that are called repeatedly.

The first call of a function with many operations is fastest if NumPy executes them one by one; the
thousandth call is fastest if it runs one compiled program. Functions are therefore evaluated
eagerly at first, and their calls are counted by signature: the types of arrays, and the values of
options. If a call creates several arrays, the third call with the same signature compiles a
program. Calls of a single operation gain little, so they are looked at more rarely and compiled
later, and only if the results are bit-identical. Signatures that do not repeat, as in loops over
growing shapes, are never compiled.

Calls that cannot be compiled are always evaluated eagerly: calls that branch on values, emit
warnings, have effects, or take functions, references or committed arrays, and all calls while
values are checked, `jit` is disabled or a mesh is in use. Calls within a trace are recorded by that
trace. Error messages are those of the eager function, since only calls that have succeeded are
compiled.

Counts do not depend on time: running the same program again gives the same results.
"""

# The data of arrays (`_value`) is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import importlib
import inspect
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.api.jit.jit_call import trace_closed
from jitney.compiler import lower
from jitney.core.diagnostics import tracebacks
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.settings import caches, config
from jitney.core.sharding.mesh import get_abstract_mesh
from jitney.core.source import source_info, user_warnings
from jitney.core.types.avals import get_aval
from jitney.core.util.thresholds import threshold
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import processes
from jitney.runtime.execution import call_interceptors, call_patterns, signatures
from jitney.runtime.execution.dispatch import RepeatedFunction, hide_calls, set_on_error
from jitney.runtime.execution.executable import Executable, Lowering

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import Value

T = TypeVar("T")

COMPILED_AT = 3  # the number of calls with one signature after which it is compiled
FEWEST_ARRAYS = 2  # a program is much faster than an eager call that creates this many arrays
# The number of counted calls after which a signature is compiled if a call creates fewer arrays.
SMALL_COMPILED_AT = threshold(16, small=4)
# The largest size in bytes of a result that a program may copy although eager evaluation returns a
# view.
LARGEST_COPY = threshold(1 << 16, small=64)
MAX_SIGNATURES = threshold(
    256, small=8
)  # signatures that are counted at the same time, per function
MAX_PROGRAMS = threshold(512, small=8)  # cached programs of all functions
MAX_VALUES = threshold(8, small=4)  # programs that differ only in the values of scalar options
LONGEST_REST = threshold(64, small=4)  # the largest number of calls skipped before the next look


class _Seen:
    """The state of calls with one signature.

    Attributes:
      key: the signature: (epoch of the settings, patterns of arguments, names of keyword
        arguments).
      calls: the number of counted calls.
      is_plain: whether all calls are evaluated eagerly.
      executable: the program, if compiled.
      unflatten: makes the result from the program's results; None for a single array.
    """

    __slots__ = ("calls", "executable", "is_plain", "key", "unflatten")

    def __init__(self, key: tuple[int, tuple[Any, ...], tuple[str, ...]]) -> None:
        self.key = key
        self.calls = 0
        self.is_plain = False
        self.executable: Executable | None = None
        self.unflatten: Callable[[list[Any]], Any] | None = None


# Compiled signatures and their functions, least recently used first.
_programs: OrderedDict[_Seen, LibraryFunction] = OrderedDict()
_functions: weakref.WeakSet[LibraryFunction] = weakref.WeakSet()


class LibraryFunction(RepeatedFunction):
    """A public library function whose calls run natively once a program is compiled."""

    __name__: str
    __qualname__: str

    def __init__(self, plain: Callable[..., Any]) -> None:
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            setattr(self, name, getattr(plain, name))
        self.__dict__.update(plain.__dict__)
        self.__wrapped__ = plain
        self._seen: dict[Any, _Seen] = {}
        self._values: dict[Any, int] = {}  # number of programs, by signature without scalars
        self._in_vain = 0  # consecutive calls that were looked at without effect
        self._reader = call_patterns.Reader(plain)
        _functions.add(self)

    # --- what native code calls -------------------------------------------------------------------

    def look(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Seen | tuple[object] | None:
        """Returns the state of the call's signature if the call is to be counted.

        If the signature is already compiled, runs its program, and returns a tuple with the result.
        Returns None if the call is to be evaluated eagerly without being counted.
        """
        try:
            leaves, patterns, names = self._reader.read(args, kwargs)
            key = config.call_epoch(), patterns, names
            seen = self._seen.get(key)
        except (call_patterns.NoPatternError, TypeError, RecursionError):
            return self._rest_longer()
        if not _is_wanted():
            return None
        if seen is None:
            if len(self._seen) >= MAX_SIGNATURES:
                self._seen = {k: known for k, known in self._seen.items() if known.executable}
            seen = self._seen[key] = _Seen(key)
        if seen.is_plain:
            return self._rest_longer()
        if seen.executable is None:
            return seen
        results = seen.executable.run(leaves)  # compiled, but evicted from the native cache
        self._enter(seen)
        return (results[0] if seen.unflatten is None else seen.unflatten(results),)

    def after(
        self, seen: _Seen, arrays: int, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Counts a call that created `arrays` arrays; compiles a program when that pays off."""
        if not arrays:  # the result is an argument, or not an array
            seen.is_plain = True
            self._rest_longer()
            return
        seen.calls += 1
        is_small = arrays < FEWEST_ARRAYS
        if is_small:
            self._rest_longer()
        else:
            self._in_vain = 0
        if seen.calls < (SMALL_COMPILED_AT if is_small else COMPILED_AT):
            return
        epoch, patterns, names = seen.key
        alike = epoch, tuple(map(call_patterns.without_numbers, patterns)), names
        if self._values.get(alike, 0) >= MAX_VALUES:
            seen.is_plain = True
            return
        compiled = _compiled(self, patterns, names, args, kwargs, result, is_small)
        if compiled is None and self._reader.has_numbers(patterns):
            # The function may depend on the value of a scalar, which then becomes part of the
            # signature.
            self._seen.pop(seen.key, None)  # another thread may have cleared the caches
            self._reader.numbers_are_exact = True
            _, patterns, names = self._reader.read(args, kwargs)
            seen = _Seen((epoch, patterns, names))
            self._seen[seen.key] = seen
            compiled = _compiled(self, patterns, names, args, kwargs, result, is_small)
        if compiled is None:
            seen.is_plain = True
            return
        if len(self._values) >= MAX_SIGNATURES:
            self._values = {}
        self._values[alike] = self._values.get(alike, 0) + 1
        seen.executable, seen.unflatten = compiled
        self._enter(seen)

    # ----------------------------------------------------------------------------------------------

    def _rest_longer(self) -> None:
        """Doubles the number of calls that are skipped before the next look, up to `LONGEST_REST`.

        Looking at a call takes longer than a small operation.
        """
        self._in_vain += 1
        self.rest = min(1 << min(self._in_vain, 30), LONGEST_REST)

    def _enter(self, seen: _Seen) -> None:
        """Registers the program of `seen` with native code, and marks it as most recently used."""
        assert seen.executable is not None
        epoch, patterns, names = seen.key
        self.remember(epoch, patterns, names, seen.executable.native, seen.unflatten, ())
        _programs[seen] = self
        _programs.move_to_end(seen)
        while len(_programs) > MAX_PROGRAMS:
            oldest, owner = _programs.popitem(last=False)
            owner.forget(oldest)

    def forget(self, seen: _Seen | None = None) -> None:
        """Drops one signature, or all; remaining programs are registered again when called."""
        if seen is None:
            self._seen, self._values = {}, {}
        else:
            self._seen.pop(seen.key, None)
        self._in_vain = self.rest = 0
        self.clear_fast_path()

    def __init_subclass__(cls) -> None:
        hide_calls(cls)

    def __get__(
        self, instance: object, owner: type | None = None
    ) -> LibraryFunction | types.MethodType:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> LibraryFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LibraryFunction:
        return self

    def __reduce__(self) -> str | tuple[object, ...]:
        # Pickled by name, like functions: by the name of this object, or, if its module does not
        # have it, by that of the wrapped function.
        try:
            named = getattr(importlib.import_module(self.__module__), self.__qualname__, None)
        except ImportError:
            named = None
        return self.__qualname__ if named is self else (repeated, (self.plain,))

    def __repr__(self) -> str:
        return repr(self.plain)


hide_calls(LibraryFunction)
set_on_error(tracebacks.leave_call)


def clear() -> None:
    """Drops all programs and counts."""
    for function in list(_functions):
        function.forget()
    _programs.clear()


caches.register(
    "programs of repeated calls", "the function, types of arrays, values of options, settings",
    __name__, entries=_programs.__len__, clear=clear,
)  # fmt: skip


def _is_wanted() -> bool:
    """Returns whether calls are to be compiled under the current settings."""
    return config.compile_repeated_calls.value and not (
        config.disable_jit_enabled()
        or config.checks_values()
        or config.check_tracer_leaks.value
        or config.no_tracing.value
        or config.no_execution.value
        or call_interceptors.any_on()
        or not get_abstract_mesh().empty
        or processes.joined.world is not None
    )


def _compiled(
    function: LibraryFunction,
    patterns: tuple[Any, ...],
    names: tuple[str, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    must_be_exact: bool,
) -> tuple[Executable, Callable[[list[Value]], object] | None] | None:
    """Returns a compiled program for the signature of a call that returned `result`, or None.

    The result is None if the call cannot be traced and compiled, if the program would copy large
    arrays or return other types than `result` has, or if the call emits a warning. With
    `must_be_exact`, programs whose results could differ in any bit are rejected.
    """
    with user_warnings.held() as warned:
        try:
            leaves = call_patterns.leaves_of(patterns, names, args, kwargs)
            if _copies(leaves, result):
                return None
            closed, tree = _traced(function, patterns, names, leaves)
            if warned or not _gives(closed, tree, result):
                return None
            module = lower.lower(closed, function.__name__)
            lowering = Lowering(module, closed.in_avals, closed.out_avals)
            if must_be_exact and not lowering.is_exact():
                return None
            executable = lowering.compile()
        except Exception:
            # The function may need a value; if the call is invalid, eager evaluation raises the
            # error.
            return None
    return executable, signatures.unflatten_function(tree)


def _traced(
    function: LibraryFunction,
    patterns: tuple[Any, ...],
    names: tuple[str, ...],
    leaves: Sequence[Any],
) -> tuple[ClosedJaxpr, PyTreeDef]:
    """Returns the program of a call, and the structure of its result.

    Raises:
      ValueError: if the program has effects, or captures values that are not constants.
      Exception: any exception that the function raises on tracers.
    """
    plain = function.plain
    n_positional = len(patterns) - len(names)

    def of_leaves(*values: Any) -> object:
        leaves = iter(values)
        arguments = [call_patterns.filled(p, leaves) for p in patterns]
        named = dict(zip(names, arguments[n_positional:], strict=True))
        return plain(*arguments[:n_positional], **named)

    flat = FlatFunction(of_leaves, pytrees.tree_structure(tuple(leaves)), _refusal)
    info = DebugInfo("jit", source_info.fun_sourceinfo(plain))
    closed, outer = trace_closed(flat, [get_aval(x) for x in leaves], info)
    if outer or closed.jaxpr.effects:
        raise ValueError("a call has effects")
    return closed, flat.out_tree


def _refusal(x: object, path: str) -> str:
    return f"no array: {x!r}{path}"


def _gives(closed: ClosedJaxpr, tree: PyTreeDef, result: Any) -> bool:
    """Returns whether the results of a program have the types and the structure of `result`."""
    leaves, structure = pytrees.tree_flatten(result)
    return structure == tree and all(
        [
            type(x) is ArrayImpl and x.placement is None and x.aval == aval
            for x, aval in zip(leaves, closed.out_avals, strict=True)
        ]
    )


def _copies(leaves: Sequence[Any], result: Any) -> bool:
    """Returns whether a program would copy large arrays of which eager evaluation returns views."""
    operands: list[Value] = [x._value if type(x) is ArrayImpl else x for x in leaves]
    large = [x._value for x in pytrees.tree_leaves(result) if x.nbytes > LARGEST_COPY]
    return any(
        [np.may_share_memory(x, y) for x in large for y in operands if isinstance(y, np.ndarray)]
    )


# --- wrapping public functions --------------------------------------------------------------------


def repeated(value: T) -> T | LibraryFunction:
    """Wraps a public function so that repeated calls are compiled.

    Objects that are not functions, and NumPy's functions, are returned unchanged.
    """
    if (
        type(value) is types.FunctionType
        and not getattr(value, "is_one_operation", False)
        and value.__module__.partition(".")[0] != "numpy"
        and not inspect.isgeneratorfunction(value)
    ):
        made_before = value.__dict__.get("_repeated")
        if made_before is None:
            made_before = LibraryFunction(value)
            value.__dict__["_repeated"] = made_before
        return made_before
    return value


def publish(namespace: dict[str, Any]) -> None:
    """Applies `repeated` to all public functions that a module defines or re-exports as its own."""
    own = namespace["__name__"]
    for name, value in list(namespace.items()):
        is_own = getattr(value, "__module__", None) in (own, own.replace("jitney", "jax", 1))
        if is_own and not name.startswith("_"):
            namespace[name] = repeated(value)


__all__ = ["LibraryFunction", "clear", "publish", "repeated"]
