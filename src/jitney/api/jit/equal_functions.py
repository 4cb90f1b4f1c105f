"""Keys by which functions are equal if they have the same code and refer to the same values.

In a loop, `jit(lambda x: f(x, 2))(x)` jits a new function in each iteration, although all of them
have the same trace. With the option `jitney_reuse_equal_functions`, two functions are equal if
their code is equal, and if the values that the code names are equal: closures, default values,
globals and attributes of modules. Functions among these values are compared by the same criteria.
The values must be immutable:
numbers, short strings, tuples, functions, or small arrays in global variables. A function that
reads anything else, such as a list, an object or the time, or that writes to a variable outside of
it, has no key, and is traced each time, as in JAX. The same applies to calls with an argument whose
class may have methods, since these could read anything.

The key does not cover values that code uses without naming them: an attribute of a module that is
passed as a value, state of NumPy and of this package, values that a wrapped function reads,
warnings. The option is therefore off by default.

A key is made each time a function is to be traced, since the values that it reads may have changed
since the last time. The first function with a given code object is traced without a key, so
functions that are defined once incur no cost.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import sys
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from jitney.core.settings import caches
from jitney.core.source import source_info
from jitney.core.tracing.primitive import Primitive
from jitney.core.types import dtypes
from jitney.core.util.thresholds import threshold
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.execution.dispatch import PjitFunction, RepeatedFunction

if TYPE_CHECKING:
    from jitney.api.jit.traced_program import TraceResult
    from jitney.core.pytree.treedef import PyTreeDef

# Cached traces keep their programs alive, and the arrays that these read.
MAX_TRACES = threshold(128, small=4)
MAX_CONSTANT_BYTES = threshold(1 << 17, small=64)
MAX_READ = threshold(32, small=8)  # functions that a function calls, directly or indirectly
MAX_VALUES = threshold(256, small=32)  # values that these functions read
MAX_TEXT = threshold(1024, small=64)  # bytes of a string or number

_PACKAGE = source_info.exclude_paths[0]
_PURE_MODULES = frozenset(
    "jitney jax numpy math cmath operator _operator functools _functools".split()
)
# Functions of NumPy whose results depend on more than their arguments.
_IMPURE = frozenset(
    """random load loadtxt fromfile genfromtxt memmap fromregex DataSource save savez savetxt
    savez_compressed geterr seterr get_printoptions set_printoptions array_repr array_str array2string
    lib""".split()
)
_PURE_BUILTINS = {
    name: vars(builtins)[name]
    for name in """abs all any bin bool bytes callable chr complex dict divmod enumerate filter float
    frozenset hex int isinstance issubclass len list map max min oct ord pow range repr reversed round
    set slice sorted str sum tuple type zip Ellipsis NotImplemented""".split()
}
# Attributes and functions through which code accesses values that it does not name.
_INDIRECT = frozenset("format format_map attrgetter methodcaller config live_arrays seed".split())
# Instructions that change state outside of a function, or read values that its names do not show.
_CHANGES = frozenset(
    dis.opmap[name]
    for name in (
        "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "LOAD_NAME",
        "LOAD_BUILD_CLASS",
    )
)  # fmt: skip
_CONTAINERS = (tuple, list, dict, type(None), OrderedDict)
_TO_VARIABLES = frozenset(dis.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))


class _Plain(NamedTuple):
    """A named tuple without fields and methods."""


_OF_NAMED_TUPLES = frozenset(vars(_Plain))


class _MayChange(Exception):
    """Raised if a function reads a value that may change, or has side effects."""


_codes: weakref.WeakSet[types.CodeType] = weakref.WeakSet()  # of functions traced so far
_names: weakref.WeakKeyDictionary[types.CodeType, frozenset[str] | None]
_names = weakref.WeakKeyDictionary()
_traces: OrderedDict[Hashable, TraceResult] = OrderedDict()


def _clear() -> None:
    _traces.clear()
    _codes.clear()


caches.register(
    "traces of equal functions", "the code, the values that it reads, types of the arguments", __name__,
    entries=_traces.__len__, clear=_clear,
)  # fmt: skip


def repeated(
    fun: Callable[..., Any], tree: PyTreeDef, static: Sequence[tuple[object, Any]] | None
) -> Hashable | None:
    """Returns the key of `fun`, or None if it has no key.

    The result is None, too, for the first function with a given code object.

    Args:
      fun: the function.
      tree: the structure of its arguments; the result is None if one of their classes may have
        methods.
      static: the (place, value) pairs of its static arguments, which become part of the key.
    """
    code = _innermost_code(fun)
    if code is None:
        return None
    if code not in _codes:
        _codes.add(code)
        return None
    values = [item.value for _, item in static or ()]
    return key_of((fun, *values)) if _is_plain(tree) else None


def _is_plain(tree: PyTreeDef) -> bool:
    """Returns whether a structure has only built-in containers and named tuples without methods."""
    kind = tree.kind
    if kind is None:
        return True
    if kind.family == "namedtuple":
        cls: type[Any] = kind.type
        others: set[str] = {*vars(cls)} - _OF_NAMED_TUPLES - {*cls._fields}
        if others or len(cls.__mro__) > 3:
            return False
    elif kind.type not in _CONTAINERS or (
        kind.type in (dict, OrderedDict) and not _are_texts(tree)
    ):
        return False
    return all(map(_is_plain, tree.children()))


def trace_of(function: Hashable, call: Hashable) -> TraceResult | None:
    """Returns the trace cached for a function's key and the key of a call's arguments, or None."""
    traced = _traces.get((function, call))
    if traced is not None:
        with contextlib.suppress(KeyError):  # another thread may have dropped the entry
            _traces.move_to_end((function, call))
    return traced


def keep(function: Hashable, call: Hashable, traced: TraceResult) -> None:
    """Caches a trace for equal functions, unless its constants are large."""
    if sum(getattr(x, "nbytes", 0) for x in traced.closed.consts) <= MAX_CONSTANT_BYTES:
        _traces[function, call] = traced
        if len(_traces) > MAX_TRACES:
            with contextlib.suppress(KeyError):
                _traces.popitem(last=False)


def _innermost_code(fun: object) -> types.CodeType | None:
    for _ in range(MAX_READ):
        name = "func" if type(fun) in (functools.partial,) else "__wrapped__"
        inner = getattr(fun, name, None)
        if type(inner) not in (types.FunctionType, functools.partial):
            break
        fun = inner
    code = getattr(fun, "__code__", None)
    return code if type(code) is types.CodeType else None


def _are_texts(tree: PyTreeDef) -> bool:
    return all(type(key) in (str, int) for key in tree.data)


def key_of(x: object) -> Hashable | None:
    """Returns a key that is the same for equal functions; None if `x` reads values that may change.

    Args:
      x: a function, or a tuple of functions and values.
    """
    try:
        key = _Reader().value(x, frozenset())
        hash(key)
        return key
    except Exception:  # attributes of users' classes may raise anything
        return None


class _Same:
    """A key of an object that is equal only to keys of the same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class _Reader:
    """Makes the keys of a function and, recursively, of the values that it reads."""

    def __init__(self) -> None:
        # Functions, and pairs of a module and the names read from it, that have been encountered:
        # functions may refer to each other in cycles.
        self.met: dict[object, int] = {}
        self.values = 0

    def value(self, x: Any, attributes: frozenset[str]) -> Hashable:
        """Returns the key of a value from which code reads the named attributes."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise _MayChange
        kind = cast("Any", type(x))  # subclasses and proxies may do anything
        if x is None or x is ... or kind is bool:
            return kind.__name__, x
        if kind in (int, str, bytes) and sys.getsizeof(x) <= MAX_TEXT:
            return kind.__name__, x
        if kind in (float, complex):
            return kind.__name__, repr(x)  # differs for 0.0 and -0.0
        if kind is tuple:
            return "tuple", tuple([self.value(item, attributes) for item in x])
        if kind in dtypes.numpy_scalar_types:
            return x.dtype, x.tobytes()
        if kind is types.FunctionType:
            return self.function(x)
        if kind is functools.partial and not vars(x):
            arguments = self.mapping(x.keywords), *(self.value(a, frozenset()) for a in x.args)
            return "partial", self.value(x.func, frozenset()), arguments
        if _is_constant(x) or (kind.__module__ == "jax" and _is_public(x)):
            return _Same(x)
        raise _MayChange

    def mapping(self, x: Mapping[str, Any] | None) -> Hashable:
        return tuple([(name, self.value(v, frozenset())) for name, v in (x or {}).items()])

    def function(self, f: types.FunctionType) -> Hashable:
        """Returns the key of a function: its code, and the values that it reads."""
        known = self.met.get(id(f))
        if known is not None:
            return known
        if len(self.met) >= MAX_READ:
            raise _MayChange
        self.met[id(f)] = len(self.met)
        code = f.__code__
        if code.co_filename.startswith(_PACKAGE):
            names: frozenset[str] = (
                frozenset()
            )  # settings determine what functions of the package read
        elif _is_public(f):
            return _Same(f)
        elif f.__dict__ or not _is_of_module(f):
            raise _MayChange
        else:
            names = names_of(code)
        try:
            cells = [c.cell_contents for c in f.__closure__ or ()]
        except ValueError:  # an unbound variable
            raise _MayChange from None
        values = [self.value(x, names) for x in [*cells, *(f.__defaults__ or ())]]
        values += [(name, self.variable(x, names)) for name, x in self.globals(f, names)]
        return code, code.co_filename, _Same(f.__globals__), self.mapping(f.__kwdefaults__), *values

    def globals(self, f: types.FunctionType, names: frozenset[str]) -> list[tuple[str, Any]]:
        """Returns those of `names` that may be global variables of `f`, with their values.

        Raises:
          _MayChange: if one may be a built-in function with side effects.
        """
        for name in names & vars(builtins).keys() - f.__globals__.keys():
            builtin = vars(builtins)[name]
            if _PURE_BUILTINS.get(name, builtins) is not builtin and not _is_error(builtin):
                raise _MayChange
        return [(name, f.__globals__[name]) for name in sorted(names & f.__globals__.keys())]

    def variable(self, x: Any, attributes: frozenset[str]) -> Hashable:
        """Returns the key of the value `x` of a global variable, which a module keeps alive."""
        if type(x) is ArrayImpl and not x.is_deleted() and x.nbytes <= MAX_CONSTANT_BYTES:
            return _Same(x)
        if type(x) is types.ModuleType:
            return self.module(x, attributes)
        return self.value(x, attributes)

    def module(self, module: types.ModuleType, attributes: frozenset[str]) -> Hashable:
        """Returns the key of a module from which code reads the named attributes."""
        known = self.met.get((id(module), attributes))
        if known is not None:
            return known
        self.met[id(module), attributes] = len(self.met)
        root, names = _root(module.__name__), vars(module)
        is_pure = root in _PURE_MODULES
        if (root == "numpy" and attributes & _IMPURE) or (not is_pure and "__getattr__" in names):
            raise _MayChange
        if module.__name__.startswith("numpy.random"):
            raise _MayChange
        read: list[Hashable] = []
        for name in sorted(attributes & names.keys()):
            x = names[name]
            is_constant = is_pure and type(x) is not types.ModuleType and _is_of_pure_module(x)
            read.append((name, _Same(x) if is_constant else self.variable(x, attributes)))
        return _Same(module), *read


def _root(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_pure(module: str | None, name: str) -> bool:
    is_random = (module or "").startswith("numpy.random")
    return (
        _root(module) in _PURE_MODULES
        and not is_random
        and not (_root(module) == "numpy" and name in _IMPURE)
    )


def _is_error(x: object) -> bool:
    return type(x) is type and issubclass(x, BaseException)


def _is_of_module(f: types.FunctionType) -> bool:
    """Returns whether the globals of a function belong to a module, which keeps them alive."""
    module = sys.modules.get(f.__module__)
    return module is not None and f.__globals__ is vars(module)


def _is_public(x: Any) -> bool:
    """Returns whether a module of pure functions has the function or class `x` under its name."""
    module, name = x.__module__, x.__name__
    if type(module) is not str or type(name) is not str or not _is_pure(module, name):
        return False
    return module in sys.modules and vars(sys.modules[module]).get(name) is x


def _is_of_pure_module(x: Any) -> bool:
    """Returns whether `x`, found in a module of pure functions, is itself pure."""
    if type(x) is types.FunctionType:
        return x.__code__.co_filename.startswith(_PACKAGE) or _is_public(x)
    return type(x) is float or type(x).__module__ == "jax" or _is_constant(x)


def _is_constant(x: Any) -> bool:
    """Returns whether `x`, which is not a Python function, is immutable, or a pure function."""
    kind = cast("Any", type(x))
    if kind is ArrayImpl:  # larger arrays must be freed with the function that holds them
        return not x.is_deleted() and x.ndim == 0
    if kind in (np.ufunc, type(np.sum)):
        return getattr(np, x.__name__, None) is x and x.__name__ not in _IMPURE
    if issubclass(kind, np.dtype | RepeatedFunction | PjitFunction):
        return True  # a jitted function is not traced again, either
    if kind is types.BuiltinFunctionType:
        owner = x.__self__
        if owner is builtins:
            return _PURE_BUILTINS.get(x.__name__) is x
        is_method = owner is not None and type(owner) is not types.ModuleType
        return not is_method and _is_pure(x.__module__, x.__name__)
    if kind is types.MethodType:
        return isinstance(x.__self__, Primitive)  # its `bind`
    if issubclass(kind, type):
        return _is_pure(x.__module__, x.__name__) or _PURE_BUILTINS.get(x.__name__) is x
    return False


def names_of(code: types.CodeType) -> frozenset[str]:
    """Returns the names of global variables and attributes in `code` and in nested functions.

    Raises:
      _MayChange: if the code changes variables or attributes outside of it, imports a module, or
        defines a class.
    """
    names = _names.get(code)
    if names is None and code not in _names:
        names = _find_names(code)
        _names[code] = names
    if names is None:
        raise _MayChange
    return names


def _find_names(code: types.CodeType) -> frozenset[str] | None:
    names = set(code.co_names)
    if not _CHANGES.isdisjoint(code.co_code[::2]) or _sets_variables(code):
        return None
    if any(name.startswith("__") or name in _INDIRECT for name in names):
        return None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            within = _find_names(constant)
            if within is None:
                return None
            names |= within
    return frozenset(names)


def _sets_variables(code: types.CodeType) -> bool:
    """Returns whether `code` writes to variables of enclosing functions."""
    first = len({*code.co_varnames, *code.co_cellvars})
    instructions = code.co_code
    return any(
        instructions[i] in _TO_VARIABLES
        and (instructions[i + 1] >= first or instructions[i - 2] == dis.EXTENDED_ARG)
        for i in range(0, len(instructions) if code.co_freevars else 0, 2)
    )
