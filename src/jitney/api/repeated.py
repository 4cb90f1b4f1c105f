"""Functions of the public interface, compiled where calls of them repeat.

The first call of a function of many operations is quick if NumPy does one after the other, the
thousandth if it is one compiled program. So functions are evaluated at first, and their calls are
counted by signature: the types of arrays, and options by value. The third call with one signature
makes a program, if a call makes several arrays on its way. One operation gains little: after some
hundred calls it becomes a program, if that gives the same bits. A signature that is not seen again, as
in loops over growing shapes, compiles nothing.

Whatever cannot be a program stays evaluated: calls that values decide about, that warn, that have
effects, or that take functions, references or arrays that were put somewhere; all calls while values
are checked, `jit` is disabled or a mesh is in force; and what is called within a trace belongs to it.
Errors are those of the evaluated function, since a program is for calls that have succeeded.

The count does not depend on time: a program that does the same again gets the same numbers.
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
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit_call import trace_closed
from jitney.compiler import lower
from jitney.core import caches, config, source_info, tracebacks, user_warnings
from jitney.core.avals import get_aval
from jitney.core.flat_function import FlatFunction
from jitney.core.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import get_abstract_mesh
from jitney.core.thresholds import threshold
from jitney.runtime import call_interceptors, call_patterns, processes, signatures
from jitney.runtime.array import ArrayImpl
from jitney.runtime.dispatch import RepeatedFunction, hide_calls, set_on_error
from jitney.runtime.executable import Executable, Lowering

if TYPE_CHECKING:
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.core.pytree.treedef import PyTreeDef

COMPILED_AT = 3  # the how many-th call with one signature makes a program
FEWEST_ARRAYS = 2  # that a call makes, for a program to be much quicker
# The how many-th call that is looked at, if it makes fewer.
SMALL_COMPILED_AT = threshold(16, small=4)
# Bytes of a result that shares memory with an operand, and would not in a program.
LARGEST_COPY = threshold(1 << 16, small=64)
MAX_SIGNATURES = threshold(256, small=8)  # counted at a time, for each function
MAX_PROGRAMS = threshold(512, small=8)  # kept, of all functions
MAX_VALUES = threshold(8, small=4)  # of numbers that are options, for which there is a program each
LONGEST_REST = threshold(64, small=4)  # calls between checks, where checks had no result


class _Seen:
    """What is known of calls with one signature.

    Attributes:
      key: the signature: (epoch of the settings, patterns of arguments, names of keyword arguments).
      calls: how many were counted.
      is_plain: whether they stay evaluated.
      executable: their program, if they have one.
      unflatten: makes the result of the program's; None for one array.
    """

    __slots__ = ("calls", "executable", "is_plain", "key", "unflatten")

    def __init__(self, key: tuple[int, tuple[Any, ...], tuple[str, ...]]) -> None:
        self.key = key
        self.calls = 0
        self.is_plain = False
        self.executable: Executable | None = None
        self.unflatten: Callable[[list[Any]], Any] | None = None


# What has a program, and of which function it is; those looked up longest ago come first.
_programs: OrderedDict[_Seen, LibraryFunction] = OrderedDict()
_functions: weakref.WeakSet[LibraryFunction] = weakref.WeakSet()


class LibraryFunction(RepeatedFunction):
    """A function of the public interface; calls with a known program are native."""

    __name__: str
    __qualname__: str

    def __init__(self, plain: Callable[..., Any]) -> None:
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            setattr(self, name, getattr(plain, name))
        self.__dict__.update(plain.__dict__)
        self.__wrapped__ = plain
        self._seen: dict[Any, _Seen] = {}
        self._values: dict[Any, int] = {}  # programs by signature without the values of numbers
        self._in_vain = 0  # looks in sequence
        self._reader = call_patterns.Reader(plain)
        _functions.add(self)

    # --- what native code calls -------------------------------------------------------------------

    def look(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What is known of such calls, if they are to be counted; (result,) if a program gave it."""
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
        results = seen.executable.run(leaves)  # entered, but not at hand for native code
        self._enter(seen)
        return (results[0] if seen.unflatten is None else seen.unflatten(results),)

    def after(
        self, seen: _Seen, arrays: int, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Counts a call, which made so many arrays, and makes a program for its kind if it is time."""
        if not arrays:  # the result is an argument, or no array
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
            # The function may ask for the value of a number: it is a part of the signature then.
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
        """Lets more and more calls go by: to look at one takes longer than a small operation."""
        self._in_vain += 1
        self.rest = min(1 << min(self._in_vain, 30), LONGEST_REST)

    def _enter(self, seen: _Seen) -> None:
        """Has native code know the program, and keeps it among the last used."""
        assert seen.executable is not None
        epoch, patterns, names = seen.key
        self.remember(epoch, patterns, names, seen.executable.native, seen.unflatten, ())
        _programs[seen] = self
        _programs.move_to_end(seen)
        while len(_programs) > MAX_PROGRAMS:
            oldest, owner = _programs.popitem(last=False)
            owner.forget(oldest)

    def forget(self, seen: _Seen | None = None) -> None:
        """Gives up a program, or all that is known of calls; other programs are entered again."""
        if seen is None:
            self._seen, self._values = {}, {}
        else:
            self._seen.pop(seen.key, None)
        self._in_vain = self.rest = 0
        self.clear_fast_path()

    def __init_subclass__(cls) -> None:
        hide_calls(cls)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> LibraryFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LibraryFunction:
        return self

    def __reduce__(self) -> Any:
        # By name, as functions are: of this object, or of the function, which is in another module.
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
    """Forgets all programs, and how often functions were called."""
    for function in list(_functions):
        function.forget()
    _programs.clear()


caches.register(
    "programs of repeated calls", "the function, types of arrays, values of options, settings",
    __name__, entries=_programs.__len__, clear=clear,
)  # fmt: skip


def _is_wanted() -> bool:
    """Returns whether calls are to be compiled under the present settings."""
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
) -> tuple[Executable, Callable[[list[Any]], Any] | None] | None:
    """The program of calls of one signature, one of which gave `result`; None if there can be none.

    With `must_be_exact` there is none whose results could have other bits.
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
            # The function may need a value; if the call is wrong, evaluation says so.
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
      ValueError: if it has effects, or closes over what is not a constant.
      Exception: whatever the function raises on tracers.
    """
    plain = function.plain
    n_positional = len(patterns) - len(names)

    def of_leaves(*values: Any) -> Any:
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
    """Returns whether the program's results are of the types and structure of `result`."""
    leaves, structure = pytrees.tree_flatten(result)
    return structure == tree and all(
        [
            type(x) is ArrayImpl and x.placement is None and x.aval == aval
            for x, aval in zip(leaves, closed.out_avals, strict=True)
        ]
    )


def _copies(leaves: Sequence[Any], result: Any) -> bool:
    """Whether a program would have to copy much of what evaluation only looks at in another way."""
    operands = [x._value if type(x) is ArrayImpl else x for x in leaves]
    large = [x._value for x in pytrees.tree_leaves(result) if x.nbytes > LARGEST_COPY]
    return any(
        [np.may_share_memory(x, y) for x in large for y in operands if isinstance(y, np.ndarray)]
    )


# --- making public functions ----------------------------------------------------------------------


def repeated(value: Any) -> Any:
    """What a public name stands for: a function has its repeated calls compiled, other things stay.

    Functions that are NumPy's stay NumPy's.
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
    """Has repeated calls compiled of all functions that a module defines, or presents as its own."""
    own = namespace["__name__"]
    for name, value in list(namespace.items()):
        is_own = getattr(value, "__module__", None) in (own, own.replace("jitney", "jax", 1))
        if is_own and not name.startswith("_"):
            namespace[name] = repeated(value)


__all__ = ["LibraryFunction", "clear", "publish", "repeated"]
