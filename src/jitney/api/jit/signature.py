"""The roles of arguments: which ones are static or donated, and the names of flat arguments.

A `CallSpec` belongs to one transformed function: it resolves argument numbers and names against the
function's signature once, and splits each call's arguments into static and dynamic ones.
"""

# Arguments from users are checked, regardless of annotations.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.settings import caches
from jitney.core.source.source_info import fun_sourceinfo
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import PyTree


def canonicalize_argnums(argnums: int | Iterable[int] | None, name: str) -> tuple[int, ...]:
    """Returns an argument number, or a sequence of them, as a tuple.

    Raises:
      TypeError: if the argument is neither an integer nor an iterable of integers.
    """
    if argnums is None:
        return ()
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return (argnums,)
    try:
        numbers: tuple[Any, ...] = tuple(argnums)  # type: ignore[arg-type]  # or it raises
    except TypeError:
        numbers = (argnums,)
    for number in numbers:
        if not hasattr(number, "__index__"):
            raise TypeError(f"{name} must be an int or a sequence of ints, but got {argnums!r}")
    return tuple(int(number) for number in numbers)


def canonicalize_argnames(argnames: str | Iterable[str] | None, name: str) -> tuple[str, ...]:
    """Returns an argument name, or a sequence of them, as a tuple.

    Raises:
      TypeError: if the argument is neither a string nor an iterable of strings.
    """
    if argnames is None:
        return ()
    if isinstance(argnames, str):
        return (argnames,)
    names = tuple(argnames)
    for item in names:
        if not isinstance(item, str):
            raise TypeError(f"{name} must be a str or a sequence of strs, but got {argnames!r}")
    return names


def signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of `fun`, or None if it cannot be determined."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def infer_argnums_and_argnames(
    signature: inspect.Signature | None,
    argnums: tuple[int, ...] | None,
    argnames: tuple[str, ...] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Infers numbers from names or names from numbers, if only one of the two is given."""
    if signature is None or (argnums is None) is (argnames is None):
        return argnums or (), argnames or ()
    parameters = list(signature.parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if argnames is not None:
        numbers = tuple(
            i
            for i, p in enumerate(positional)
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in argnames
        )
        return numbers, argnames
    assert argnums is not None
    n = len(positional)
    wanted = {i if i >= 0 else i + n for i in argnums}
    names = tuple(
        p.name
        for i, p in enumerate(positional)
        if p.kind is p.POSITIONAL_OR_KEYWORD and i in wanted
    )
    return argnums, names


def check_argnums(
    signature: inspect.Signature | None,
    fun: Callable[..., Any],
    argnums: tuple[int, ...],
    name: str,
) -> None:
    """Raises ValueError if a number is not the position of a positional parameter of `fun`."""
    if signature is None or not argnums:
        return
    parameters = list(signature.parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    n = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if not all(-n <= i < n for i in argnums):
        bounds = f"must be in the range from {-n} to {n - 1}" if n else "must be empty"
        raise ValueError(
            f"jit of {fun_sourceinfo(fun)}: `{name}` {bounds}, as the function has "
            f"{messages.counted(n, 'positional parameter')}, but is {argnums}"
        )


def check_argnames(
    signature: inspect.Signature | None,
    fun: Callable[..., Any],
    argnames: tuple[str, ...],
    name: str,
) -> None:
    """Raises ValueError if a name is not a keyword parameter of `fun`."""
    if signature is None or not argnames:
        return
    parameters = list(signature.parameters.values())
    valid = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    without_name = {p.name for p in parameters} - valid
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    invalid = [k for k in argnames if k in without_name or not (takes_any or k in valid)]
    if invalid:
        raise ValueError(
            f"{name} must name parameters that can be passed by keyword, {sorted(valid)}, but names "
            f"{set(invalid)}"
        )


@record(frozen=True)
class CallSpec:
    """The roles of the arguments of one function.

    Attributes:
      signature: the function's signature, or None if unknown.
      static_argnums, static_argnames, donate_argnums, donate_argnames: as for `jit`; those that
        were not given are inferred.
    """

    signature: inspect.Signature | None
    static_argnums: tuple[int, ...]
    static_argnames: frozenset[str]
    donate_argnums: tuple[int, ...]
    donate_argnames: frozenset[str]

    @property
    def has_static(self) -> bool:
        return bool(self.static_argnums or self.static_argnames)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[object, ...], dict[str, object], tuple[object, ...] | None]:
        """Splits a call into (dynamic args, dynamic kwargs, key of static arguments).

        The key is a tuple of (position or name, value) pairs, or None if no argument is static.
        """
        if not self.has_static:
            return args, kwargs, None
        n = len(args)
        positions = {i if i >= 0 else i + n for i in self.static_argnums}
        static = [(i, _StaticValue(args[i], i)) for i in sorted(positions) if 0 <= i < n]
        static += [
            (name, _StaticValue(kwargs[name], name))
            for name in sorted(kwargs)
            if name in self.static_argnames
        ]
        dynamic = tuple(x for i, x in enumerate(args) if i not in positions)
        if self.static_argnames:
            kwargs = {k: v for k, v in kwargs.items() if k not in self.static_argnames}
        return dynamic, kwargs, tuple(static)

    def static_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[object]:
        """Returns the static arguments."""
        values: list[Any] = []
        self.map_static(values.append, args, kwargs)
        return values

    def map_static(
        self, f: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Returns the arguments with `f` applied to the static ones."""
        positions = {i % len(args) for i in self.static_argnums if -len(args) <= i < len(args)}
        return (
            tuple([f(x) if i in positions else x for i, x in enumerate(args)]),
            {k: f(x) if k in self.static_argnames else x for k, x in kwargs.items()},
        )

    def merge(
        self, dynamic: Sequence[Any], kwargs: dict[str, Any], static: Any
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """Inverts `split`."""
        if not static:
            return tuple(dynamic), kwargs
        positions = {where: item.value for where, item in static if isinstance(where, int)}
        names = {where: item.value for where, item in static if isinstance(where, str)}
        remaining = iter(dynamic)
        args = [
            positions[i] if i in positions else next(remaining)
            for i in range(len(dynamic) + len(positions))
        ]
        return tuple(args), {**kwargs, **names}

    def donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, ...]:
        """Returns for each flat dynamic argument whether it is donated."""
        if not self.donate_argnums and not self.donate_argnames:
            return (False,) * pytrees.count_leaves((args, kwargs))
        n = len(args) + len(self.static_argnums)
        numbers = {i if i >= 0 else i + n for i in self.donate_argnums}
        static = {i if i >= 0 else i + n for i in self.static_argnums}
        dynamic_positions = [i for i in range(n) if i not in static]
        flags: list[bool] = []
        for i, x in zip(dynamic_positions, args, strict=False):
            flags += [i in numbers] * pytrees.count_leaves(x)
        for name in sorted(kwargs):
            flags += [name in self.donate_argnames] * pytrees.count_leaves(kwargs[name])
        return tuple(flags)

    def static_name(self, where: int | str) -> str:
        """Returns the name of a static argument passed at a position or by keyword."""
        if isinstance(where, str) or self.signature is None:
            return str(where)
        return name_at([*self.signature.parameters.values()], where)

    def argument_names(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Any
    ) -> list[str]:
        """Returns the names of the flat dynamic arguments, such as `x['k'][0]`."""
        full_args, full_kwargs = self.merge(
            [_Dynamic(x) for x in args], {k: _Dynamic(v) for k, v in kwargs.items()}, static
        )
        names: list[str] = []
        for name, value in _bind_names(self.signature, full_args, full_kwargs):
            if isinstance(value, _Dynamic):
                paths = pytrees.tree_flatten_with_path(value.tree)[0]
                names += [f"{name}{pytrees.keystr(path)}" for path, _ in paths]
        return names


def _hashable(value: object) -> str:
    """Returns advice on what to pass instead of an unhashable static argument."""
    kind = type(value)
    if kind is list:
        frozen = _frozen(value)
        shown = "" if frozen is None else f", {frozen!r}"
        return f"pass a tuple{shown if messages.is_short(shown) else ''}"
    if kind is set:
        return "pass a frozenset"
    if kind is dict:
        return "pass a tuple of the items, and make the dict in the function"
    if hasattr(value, "__array__"):
        return "pass an array as a non-static argument; pass a shape as a tuple of ints"
    return f"make {kind.__name__} hashable, for example by @dataclasses.dataclass(frozen=True)"


def name_at(parameters: Sequence[inspect.Parameter], position: int) -> str:
    """Returns the name of the argument at a position: "n", or "sizes[0]" for `*sizes`."""
    for k, parameter in enumerate(parameters[: position + 1]):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{position - k}]"
    return parameters[position].name if position < len(parameters) else str(position)


def _frozen(value: object) -> object:
    """Returns a (nested) list of numbers and strings as a tuple; None for other objects."""
    if type(value) in (list, tuple):
        parts = [_frozen(x) for x in cast("Sequence[object]", value)]
        return None if any(p is None for p in parts) else tuple(parts)
    return value if type(value) in (bool, int, float, str) else None


class _StaticValue:
    """A static argument in a cache key.

    Two instances are equal if the types and the values of the arguments are; 0.0 and -0.0 differ.
    """

    __slots__ = ("_hash", "value")

    def __init__(self, value: object, where: int | str) -> None:
        try:
            self._hash = hash((type(value), value))
        except TypeError as error:
            raise ValueError(
                f"static argument {where!r} must be hashable, but is of type {type(value)}: "
                f"{error}. Compiled programs are cached by the values of static arguments, which "
                f"must have __hash__ and __eq__\nInstead: {_hashable(value)}"
            ) from None
        self.value = value

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _StaticValue):
            return False
        if self.value is other.value:
            return True
        if type(self.value) is not type(other.value):
            return False
        try:
            is_equal = bool(self.value == other.value)
        except Exception as error:
            raise ValueError(
                "static arguments should be comparable using __eq__, but comparing two of type "
                f"{type(self.value)} raised {type(error).__name__}: {error}"
            ) from error
        if is_equal and type(self.value) is float and self.value == 0:
            return repr(self.value) == repr(other.value)
        return is_equal


@record(frozen=True)
class _Dynamic:
    tree: Any


def _bind_names(
    signature: inspect.Signature | None, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[tuple[str, object]]:
    """Returns (name, argument) pairs: positional arguments, then keyword arguments by name."""
    named: list[tuple[str, Any]] = []
    parameters = list(signature.parameters.values()) if signature else []
    for i, value in enumerate(args):
        if i < len(parameters) and parameters[i].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            named.append((parameters[i].name, value))
            continue
        var_positional = next((p for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        if var_positional is not None:
            first = parameters.index(var_positional)
            named.append((f"{var_positional.name}[{i - first}]", value))
        else:
            named.append((f"args[{i}]", value))
    keyword_names = {p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}
    variadic = next((p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    for name in sorted(kwargs):
        label = name if name in keyword_names or variadic is None else f"{variadic.name}['{name}']"
        named.append((label, kwargs[name]))
    return named


# Function -> its signature, and its number of parameters if all are positional, otherwise -1.
_parameters: weakref.WeakKeyDictionary[Any, tuple[inspect.Signature | None, int]]
_parameters = weakref.WeakKeyDictionary()
caches.register(
    "signatures of functions with custom rules", "the function", __name__,
    entries=_parameters.__len__, clear=_parameters.clear,
)  # fmt: skip


def _positional_parameters(fun: Callable[..., Any]) -> tuple[inspect.Signature | None, int]:
    signature = signature_of(fun)
    if signature is None:
        return None, -1
    kinds = [p.kind for p in signature.parameters.values()]
    names = inspect.Parameter
    plain = all([kind in (names.POSITIONAL_ONLY, names.POSITIONAL_OR_KEYWORD) for kind in kinds])
    return signature, len(kinds) if plain else -1


def positional(
    fun: Callable[..., Any], args: tuple[PyTree, ...], kwargs: dict[str, PyTree], decorator: str
) -> tuple[object, ...]:
    """Returns the arguments of a call as positional ones, with keywords and defaults resolved.

    Args:
      fun: the function.
      args, kwargs: the arguments of the call.
      decorator: the transformation of the function, for messages.

    Raises:
      TypeError: if the arguments do not match the signature, or cannot all be passed by position.
    """
    try:
        known = _parameters.get(fun)
        if known is None:
            known = _parameters[fun] = _positional_parameters(fun)
    except TypeError:  # not hashable or not weakly referenceable
        known = _positional_parameters(fun)
    signature, n_all = known
    if len(args) == n_all and not kwargs:
        return tuple(args)
    if signature is None:
        if kwargs:
            raise TypeError(f"{fun} has no signature, so its keyword arguments cannot be resolved")
        return tuple(args)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(_misfit(fun, decorator, str(error))) from None
    bound.apply_defaults()
    # Keyword-only arguments that were not passed keep their defaults.
    unresolved = [name for name in bound.kwargs if name in kwargs]
    if unresolved:
        reason = "these arguments are keyword-only, so they have no position: "
        raise TypeError(_misfit(fun, decorator, reason + ", ".join(unresolved)))
    return bound.args


def _misfit(fun: Callable[..., Any], decorator: str, reason: str) -> str:
    where = fun_sourceinfo(fun)
    return f"{decorator}: the arguments of the call do not fit the signature of {where}:\n{reason}"
