"""Options as absl-py command-line flags, for programs whose `main` is run by `absl.app.run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

_defined = False
_parsed = False


def define_flags(values: Mapping[str, object], update: Callable[[str, Any], None]) -> None:
    """Defines an absl flag for each option; when the program starts, the flags set the options.

    Repeated calls have no effect.

    Args:
      values: the options by name.
      update: sets an option, given its name and value.
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
    """Returns whether flags have been defined for the options."""
    return _defined


def apply_flags(
    flags: Any, values: Mapping[str, object], update: Callable[[str, Any], None]
) -> None:
    """Sets the options whose flags were given on the command line; `flags` is `absl.flags`."""
    for name in values:
        flag = flags.FLAGS[name]
        if flag.present:
            update(name, flag.value)


def parse_flags(values: Mapping[str, object], update: Callable[[str, Any], None]) -> None:
    """Defines the flags and sets options from the command line of this process.

    Other arguments are ignored. Repeated calls have no effect.
    """
    global _parsed
    if _parsed:
        return
    _parsed = True
    from absl import flags

    define_flags(values, update)
    flags.FLAGS(sys.argv, known_only=True)
    apply_flags(flags, values, update)
