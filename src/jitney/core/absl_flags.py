"""Options as command-line flags of absl-py, for programs whose `main` is run by `absl.app.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

_defined = False
_parsed = False


def define_flags(values: Mapping[str, object], update: Callable[[str, Any], None]) -> None:
    """Defines a flag of absl for each option, once; the program's start sets options by them.

    Args:
      values: the options by name.
      update: sets one.
    """
    global _defined
    from absl import app, flags

    if _defined:
        return
    _defined = True
    kinds: dict[type, Any] = {
        bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float,
    }  # fmt: skip
    for name, value in values.items():
        define = kinds.get(type(value), flags.DEFINE_string)
        define(name, value, f"jax.config.{name}")
    app.call_after_init(lambda: apply_flags(flags, values, update))


def are_defined() -> bool:
    """Returns whether options have been made flags."""
    return _defined


def apply_flags(
    flags: Any, values: Mapping[str, object], update: Callable[[str, Any], None]
) -> None:
    """Sets the options whose flags were given, by `flags` (the module `absl.flags`)."""
    for name in values:
        flag = flags.FLAGS[name]
        if flag.present:
            update(name, flag.value)


def parse_flags(values: Mapping[str, object], update: Callable[[str, Any], None]) -> None:
    """Defines flags, and sets options by this process's arguments, once; others are left alone."""
    global _parsed
    if _parsed:
        return
    _parsed = True
    from absl import flags

    define_flags(values, update)
    flags.FLAGS(sys.argv, known_only=True)
    apply_flags(flags, values, update)
