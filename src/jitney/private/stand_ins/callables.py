"""`jax._src.util`: names of functions, memoization, and hashable functions."""

from __future__ import annotations

import abc
import functools
import inspect
import logging
import weakref
from collections.abc import Callable, Hashable
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

from jitney.core.settings import caches, config
from jitney.core.util.wraps import UNNAMED, name_of

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_CACHED = 4096  # results kept per memoized function


def fun_name(fun: Callable[..., Any], default_name: str = UNNAMED) -> str:
    """Returns the name of a function, or `default_name` for a callable without a name."""
    name = name_of(fun)
    return default_name if name == UNNAMED else name


def fun_qual_name(fun: Callable[..., Any]) -> str:
    """Returns the qualified name of a function, of the function in a partial, or of the type."""
    if isinstance(fun, functools.partial):
        return fun_qual_name(fun.func)
    return getattr(fun, "__qualname__", None) or type(fun).__qualname__


def wrap_name(transform_name: str, name: str) -> str:
    """Returns the name of a transformed function, such as "vmap(f)"."""
    return f"{transform_name}({name})"


def wraps(
    wrapped: Callable[..., Any],
    namestr: str | None = None,
    docstr: str | None = None,
    **kwargs: Any,
) -> Callable[[F], F]:
    """Returns a decorator that copies the name, docstring and attributes of another function.

    Args:
      wrapped: the other function, which can be any callable.
      namestr: template of the name, with the field "{fun}".
      docstr: template of the docstring, with the fields "{fun}", "{doc}" and the names in `kwargs`.
    """
    name = fun_name(wrapped)
    doc = getattr(wrapped, "__doc__", None) or ""

    def decorate(fun: F) -> F:
        fields = {"fun": name, "doc": doc, **kwargs}
        given: dict[str, Any] = {
            "__name__": (namestr or "{fun}").format(**fields),
            "__module__": getattr(wrapped, "__module__", "<unknown module>"),
            "__doc__": doc if docstr is None else docstr.format(**fields),
            "__annotations__": getattr(wrapped, "__annotations__", {}),
            "__qualname__": getattr(wrapped, "__qualname__", name),
        }
        fun.__dict__.update(getattr(wrapped, "__dict__", {}))
        for attribute, value in given.items():
            setattr(fun, attribute, value)
        fun.__dict__["__wrapped__"] = wrapped
        return fun

    return decorate


def curry(f: Callable[..., R]) -> Callable[..., Callable[..., R]]:
    """Returns a function that binds leading arguments of `f`, and returns the partial function."""
    return functools.partial(functools.partial, f)


def cache(
    max_size: int | None = _CACHED, trace_context_in_key: bool | Callable[[], Hashable] = True
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Memoizes a function by its arguments, and by the settings that affect tracing.

    Args:
      max_size: maximum number of results to keep; None keeps all.
      trace_context_in_key: whether settings are part of the key; or a function that returns a key
        to be used in their place.
    """

    def context() -> Hashable:
        if callable(trace_context_in_key):
            return trace_context_in_key()
        return config.trace_epoch() if trace_context_in_key else None

    def decorate(f: Callable[P, R]) -> Callable[P, R]:
        @functools.lru_cache(max_size)
        def known(_: Hashable, *args: Any, **kwargs: Any) -> R:
            return f(*args, **kwargs)

        @functools.wraps(f)
        def cached(*args: P.args, **kwargs: P.kwargs) -> R:
            return known(context(), *args, **kwargs)

        _publish(cached, known.cache_clear, lambda: known.cache_info().currsize, f.__module__)
        cached.__dict__["cache_info"] = known.cache_info
        return cached

    return decorate


memoize = cache(max_size=None)


@overload
def weakref_lru_cache(
    f: None = None,
    *,
    maxsize: int | None = _CACHED,
    trace_context_in_key: bool = True,
    explain: object = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
@overload
def weakref_lru_cache(
    f: Callable[P, R],
    *,
    maxsize: int | None = _CACHED,
    trace_context_in_key: bool = True,
    explain: object = None,
) -> Callable[P, R]: ...
def weakref_lru_cache(
    f: Callable[..., Any] | None = None,
    *,
    maxsize: int | None = _CACHED,
    trace_context_in_key: bool = True,
    explain: object = None,
) -> Callable[..., object]:
    """Memoizes a function by its arguments, without keeping the first argument alive.

    The first argument must be weakly referenceable; its results are dropped when it is garbage
    collected. At most `maxsize` results are kept for each first argument. First arguments that are
    equal share results; on a cache miss, the function is called with the argument of that call.
    """
    if f is None:
        return functools.partial(
            weakref_lru_cache, maxsize=maxsize, trace_context_in_key=trace_context_in_key
        )
    known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
    function = f

    @functools.wraps(function)
    def cached(first: Any, *args: Any, **kwargs: Any) -> object:
        of_first = known.get(first)
        if of_first is None:

            @cache(max_size=maxsize, trace_context_in_key=trace_context_in_key)
            @functools.wraps(function)
            def memoized(given: _Given, *args: Any, **kwargs: Any) -> object:
                return function(given.value, *args, **kwargs)

            known[first] = of_first = memoized
        given = _Given(first)
        try:
            return of_first(given, *args, **kwargs)
        finally:
            given.value = None  # it may be kept in a key

    _publish(cached, known.clear, lambda: len(known), function.__module__)
    return cached


class _Given:
    """An argument that is not part of the key: all instances compare equal."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Given)

    def __hash__(self) -> int:
        return 0


def _publish(
    cached: Callable[..., Any], clear: Callable[[], None], entries: Callable[[], int], module: str
) -> None:
    """Registers a cache with `jax.clear_caches`, and adds `cache_clear` to the function."""
    caches.register(
        "results that packages memoize", "the arguments, settings", module,
        entries=entries, clear=clear,
    )  # fmt: skip
    cached.__dict__["cache_clear"] = clear


class HashableFunction:
    """A function that compares equal to another with the same code and an equal `closure`."""

    def __init__(self, f: Callable[..., Any], closure: Hashable) -> None:
        self.f = f
        self.closure = closure

    def __eq__(self, other: object) -> bool:
        if type(other) is not HashableFunction:
            return NotImplemented
        return _code(self.f) == _code(other.f) and self.closure == other.closure

    def __hash__(self) -> int:
        return hash((_code(self.f), self.closure))

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        return self.f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<hashable {fun_name(self.f)} with closure {self.closure!r}>"


class HashablePartial:
    """A partial function that compares equal to another with the same code and equal arguments."""

    def __init__(self, f: Callable[..., Any], *args: Hashable, **kwargs: Hashable) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs

    def __eq__(self, other: object) -> bool:
        if type(other) is not HashablePartial:
            return NotImplemented
        is_same = _code(self.f) == _code(other.f)
        return is_same and (self.args, self.kwargs) == (other.args, other.kwargs)

    def __hash__(self) -> int:
        return hash((_code(self.f), self.args, tuple(sorted(self.kwargs.items()))))

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)


def _code(f: Callable[..., Any]) -> object:
    return getattr(f, "__code__", f)


class HashableWrapper:
    """A wrapper of a value as a key: compared by equality if it is hashable, else by identity."""

    def __init__(self, x: object) -> None:
        self.x = x
        try:
            self.hash: int | None = hash(x)
        except TypeError:
            self.hash = None

    def __hash__(self) -> int:
        return id(self.x) if self.hash is None else self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HashableWrapper):
            return False
        return self.x is other.x if self.hash is None else bool(self.x == other.x)


class WithHash:
    """A wrapper of a value with a given hash and a given equality function."""

    def __init__(self, val: Any, hash: int, eq: Callable[[Any, Any], bool]) -> None:  # noqa: A002
        self.val = val
        self.hash = hash
        self.eq = eq

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithHash) and self.eq(self.val, other.val)


class Unhashable:
    """A wrapper of a value that is unhashable even if the type of the value is hashable."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as Python marks unhashable types

    def __init__(self, val: Any) -> None:
        self.val = val

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and bool(self.val == other.val)


class StrictABCMeta(abc.ABCMeta):
    """A metaclass of abstract classes without virtual subclasses."""

    def register(cls, subclass: type) -> NoReturn:
        """Raises an error, since virtual subclasses are not allowed."""
        raise NotImplementedError(
            f"{cls.__name__} cannot have virtual subclasses; derive a class from it instead"
        )

    __instancecheck__ = type.__instancecheck__


class StrictABC(metaclass=StrictABCMeta):
    """A base class of abstract classes without virtual subclasses."""

    __slots__ = ()


def set_module(module: str) -> Callable[[T], T]:
    """Returns a decorator that sets `__module__`."""

    def decorate(thing: T) -> T:
        if module is not None:
            setattr(thing, "__module__", module)  # noqa: B010  # of any type
        return thing

    return decorate


def use_cpp_class(cpp_cls: type[Any]) -> Callable[[type[T]], type[T]]:
    """Returns a decorator that returns the Python class unchanged."""
    return lambda cls: cls


def use_cpp_method(is_enabled: bool = True) -> Callable[[F], F]:
    """Returns a decorator that returns the Python method unchanged."""
    return lambda method: method


def distributed_debug_log(*pairs: tuple[str, object]) -> None:
    """Logs pairs of labels and values to "jax._src.util", at level DEBUG."""
    lines = "\n".join(f"  {text}: {value}" for text, value in pairs)
    logging.getLogger("jax._src.util").debug("distributed values:\n%s", lines)


def fun_signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of a function; None if it cannot be determined."""
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None
