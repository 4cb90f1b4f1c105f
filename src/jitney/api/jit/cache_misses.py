"""Explanations of cache misses: logs, at level WARNING, why a jitted function is traced again.

They are off by default; the option is `jax_explain_cache_misses`. The key of a trace consists of
static arguments, pytree structure, types, settings and named axes. On a cache miss, the log names
the components in which the key differs from that of the nearest cached trace, or from the latest of
these if several are equally near.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.pytree.errors import equality_errors_pytreedef
from jitney.core.settings import config
from jitney.core.source import source_info

if TYPE_CHECKING:
    from types import CodeType

    from jitney.core.types.avals import AbstractValue

Key = tuple[Any, ...]  # static arguments, structure, types, epoch of the settings, named axes

_log = logging.getLogger(__name__)

# Functions whose traces have been explained: code object -> (file -> function). Functions that are
# created in a loop share a code object. The file is needed because code objects of different files
# can compare equal.
_functions: weakref.WeakKeyDictionary[CodeType, dict[str, weakref.ref[Callable[..., Any]]]] = (
    weakref.WeakKeyDictionary()
)


def explain(
    fun: Callable[..., Any],
    key: Key,
    known: Sequence[Key],
    names: Sequence[str],
    static_name: Callable[[int | str], str],
) -> None:
    """Logs why `fun` is traced.

    Args:
      fun: the user's function; functions of this package are skipped.
      key: the key of the call.
      known: the keys of existing traces, oldest first.
      names: names of the flat arguments.
      static_name: returns the name of a static argument from its position or keyword in the key.
    """
    code = getattr(fun, "__code__", None)
    if code is not None and source_info.is_internal(code):
        return
    place = source_info.summarize(source_info.current()) or "an unknown location"
    lines = [f"TRACING CACHE MISS at {place}, of {source_info.fun_sourceinfo(fun)}, because of:"]
    if known:
        lines += [f"  {reason}" for reason in reasons(key, nearest(key, known), names, static_name)]
    else:
        lines += _of_new_function(fun, code)
    _log.warning("\n".join(lines))


def nearest(key: Key, known: Sequence[Key]) -> Key:
    """Returns the key among `known` (oldest first) that differs least from `key`."""
    return min(reversed(known), key=lambda other: _distance(key, other))


def _distance(key: Key, other: Key) -> tuple[int, int]:
    """Returns how many components differ, and, if the structures are equal, how many types."""
    parts = sum([a != b for a, b in zip(key, other, strict=True)])
    types = sum([a != b for a, b in zip(key[2], other[2], strict=False)])
    return parts, types


def _of_new_function(fun: Callable[..., Any], code: CodeType | None) -> Iterator[str]:
    yield "  never seen function, or its traces have been dropped from the cache"
    if code is None:
        return
    by_file = _functions.setdefault(code, {})
    before = by_file.get(code.co_filename)
    if before is not None and before() is not fun:
        yield (
            "  a function with the same code has been traced before. Traces are cached per function "
            "object, so a function that is created in a loop is traced in each iteration. Create "
            "and jit it once, outside the loop."
        )
    try:
        by_file[code.co_filename] = weakref.ref(fun)
    except TypeError:
        return


def reasons(
    key: Key, other: Key, names: Sequence[str], static_name: Callable[[int | str], str]
) -> Iterator[str]:
    """Yields one line for each component in which two calls differ."""
    static, tree, avals, epoch, axes = key
    other_static, other_tree, other_avals, other_epoch, other_axes = other
    if static != other_static:
        now, before = (_shown(each, static_name) for each in (static, other_static))
        yield f"different static arguments: now {now} and before {before}"
    if tree != other_tree:
        yield "different input pytree:"
        for path, before, now, reason in equality_errors_pytreedef(other_tree, tree):
            yield f"  at {_place(path)}, now {now} and before {before}: {reason}"
    elif avals != other_avals:
        yield "different input types:"
        for name, now, before in zip(names, avals, other_avals, strict=True):
            if now != before:
                yield f"  at {name}, now {_type(now, before)} and before {_type(before, now)}"
                yield from _about_weak_types(now, before)
    if epoch != other_epoch:
        yield "different tracing context:"
        now_set, before_set = map(config.settings_of_epoch, (epoch, other_epoch))
        yield from _settings(now_set, before_set)
    if axes != other_axes:
        yield f"different named axes: now {axes} and before {other_axes}"


def _shown(static: Key | None, static_name: Callable[[int | str], str]) -> str:
    shown = [f"{static_name(where)}={item.value!r}" for where, item in static or ()]
    return ", ".join(shown) or "none"


def _place(path: Sequence[Any]) -> str:
    from jitney.core.pytree import pytrees

    if not path:
        return "the call"
    part: int = path[0].idx
    return ("args", "kwargs")[part] + pytrees.keystr(tuple(path[1:]))


def _type(aval: AbstractValue, beside: AbstractValue) -> str:
    text = aval.str_short(short_dtypes=True)
    if aval.weak_type != beside.weak_type:
        text += f"{{weak_type={aval.weak_type}}}"
    return text


def _about_weak_types(now: AbstractValue, before: AbstractValue) -> Iterator[str]:
    if now.weak_type != before.weak_type:
        yield (
            "  one is a Python scalar, or was computed from Python scalars only; see "
            "https://docs.jax.dev/en/latest/type_promotion.html#weak-types"
        )


def _settings(now: Mapping[str, object], before: Mapping[str, object]) -> Iterator[str]:
    for name, value in now.items():
        if value != before.get(name):
            yield f"  at {name}, now {value} and before {before.get(name)}"
