"""Records: classes with named fields like those of `dataclasses`, at a twentieth of the cost.

The package has some hundred of them, most of which are needed between `import jax` and the first
compiled call. The standard decorator generates and compiles up to six methods for each class, which
takes 0.2 to 0.5 ms. This one shares its methods among all records, and generates a constructor when
a class is first called. It supports the features of `dataclass(slots=True)`: slots, defaults,
equality by fields or, with `eq=False`, by identity, hashing of frozen records, pickling, and
matching by position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import get_annotations
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_MISSING: Any = object()


class _Factory:
    """A default value that is created for each record."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], Any]) -> Any:
    """Returns a field whose default is the result of `default_factory()` for each record."""
    return _Factory(default_factory)


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def record(cls: type[T] | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
    """Makes the annotated names of a class its fields, in slots; a decorator.

    Args:
      cls: the class; it may inherit from another record, whose fields come first.
      frozen: whether fields are read-only; frozen records with `eq` are hashable.
      eq: whether records of the same class compare by their fields, rather than by identity.
    """
    if cls is None:
        return partial(_make, frozen=frozen, eq=eq)
    return _make(cls, frozen, eq)


def fields(cls: Any) -> tuple[str, ...]:
    """Returns the names of the fields of a record or record class."""
    return cls.__match_args__


def replace(x: T, /, **changes: object) -> T:
    """Returns a copy of the record `x` with some fields replaced."""
    values = {name: getattr(x, name) for name in fields(x)}
    return type(x)(**{**values, **changes})


# The constructors of records with more fields are not generated: compiling one takes 10 us for each
# field, and such records are created once or twice.
_WRITTEN_FIELDS = 60


def _make(cls: Any, frozen: bool, eq: bool) -> Any:
    own = tuple(get_annotations(cls))
    space: dict[str, Any] = dict(cls.__dict__)
    space = {k: v for k, v in space.items() if k not in {*own, "__dict__", "__weakref__"}}
    inherited: tuple[str, ...] = getattr(cls, "__match_args__", ())
    defaults: dict[str, Any] = dict(getattr(cls, "__record_defaults__", ()))
    defaults.update({name: cls.__dict__[name] for name in own if name in cls.__dict__})
    space["__slots__"] = own
    space["__match_args__"] = names = inherited + own
    space["__record_defaults__"] = defaults
    space["__record_values__"] = attrgetter(*names) if names else staticmethod(_no_values)
    space.setdefault("__repr__", _repr)
    space["__getstate__"], space["__setstate__"] = _state, _set_state
    if eq:
        space.setdefault("__eq__", _eq)
        space.setdefault("__hash__", _hash if frozen else None)
    if frozen:
        space["__setattr__"], space["__delattr__"] = _refuse, _refuse
    record_class: Any = type(cls)(cls.__name__, cls.__bases__, space)
    if "__init__" not in space:
        record_class.__init__ = _first_init(record_class, names, defaults, frozen)
    return record_class


def _first_init(
    cls: Any, names: tuple[str, ...], defaults: dict[str, Any], frozen: bool
) -> Callable[..., None]:
    """Returns a constructor that generates the real one, installs it, and calls it."""

    def __init__(self: Any, *args: object, **kwargs: object) -> None:
        if len(names) <= _WRITTEN_FIELDS:
            init = _write_init(cls, names, defaults, frozen)
        else:
            init = _general_init(cls, names, defaults)
        cls.__init__ = init
        init(self, *args, **kwargs)

    return __init__


def _general_init(
    cls: Any, names: tuple[str, ...], defaults: dict[str, Any]
) -> Callable[..., None]:
    """Returns a constructor that loops over the fields; see `_WRITTEN_FIELDS`."""

    def __init__(self: Any, *args: object, **kwargs: object) -> None:
        given = dict(zip(names, args, strict=False))
        values = {**defaults, **given, **kwargs}
        wrong = {*given} & {*kwargs} | {*names} ^ {*values}
        if wrong or len(args) > len(names):
            what = f"got {len(args)} values for {len(names)} fields"
            if wrong:
                what = f"missing, repeated or unknown: {', '.join(sorted(wrong))}"
            raise TypeError(f"{cls.__qualname__}() needs each of its fields once; {what}")
        for name, value in values.items():
            value = value.make() if isinstance(value, _Factory) else value
            getattr(cls, name).__set__(self, value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _write_init(
    cls: Any, names: tuple[str, ...], defaults: dict[str, Any], frozen: bool
) -> Callable[..., None]:
    arguments: list[str] = []
    body: list[str] = []
    scope: dict[str, Any] = {"_missing": _MISSING}
    for name in names:
        value = name
        if name in defaults:
            default = defaults[name]
            if isinstance(default, _Factory):
                scope[f"_{name}_default"] = _MISSING
                scope[f"_{name}_make"] = default.make
                value = f"(_{name}_make() if {name} is _missing else {name})"
            else:
                scope[f"_{name}_default"] = default
            arguments.append(f"{name}=_{name}_default")
        else:
            arguments.append(name)
        if frozen:  # the class rejects assignments; its slots do not
            scope[f"_{name}_set"] = getattr(cls, name).__set__
            body.append(f"    _{name}_set(self, {value})")
        else:
            body.append(f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    text = f"def __init__({', '.join(['self', *arguments])}):\n" + "\n".join(body or ["    pass"])
    exec(text, scope)
    init = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _repr(self: Any) -> str:
    shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in fields(self)])
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return self.__record_values__(self) == other.__record_values__(other)


def _hash(self: Any) -> int:
    return hash(self.__record_values__(self))


def _refuse(self: Any, name: str, *value: object) -> None:
    raise AttributeError(f"cannot change field {name!r} of the frozen {type(self).__name__}")


def _no_values(self: Any) -> tuple[()]:
    return ()


def _state(self: Any) -> list[object]:
    return [getattr(self, name) for name in fields(self)]


def _set_state(self: object, state: list[Any]) -> None:
    for name, value in zip(fields(self), state, strict=True):
        getattr(type(self), name).__set__(self, value)
