"""Environment variables that set options, and misspelled ones.

`JAX_ENABLE_X64=1` and `JITNEY_ENABLE_X64=1` set the initial value of the option `jax_enable_x64`; a
few variables do not correspond to options. Any other variable with one of these prefixes is either
misspelled or belongs to another program.
"""

from __future__ import annotations

import os

from jitney.core.settings.config import config
from jitney.core.settings.options import refused
from jitney.core.source.user_warnings import warn

PREFIXES = ("JAX_", "JITNEY_")
# Read where they are used; see docs/settings.md.
_OTHERS = frozenset(
    "JITNEY_NUM_THREADS JITNEY_BLAS JITNEY_CHECK JITNEY_SMALL_THRESHOLDS JAX_PLATFORM_NAME".split()
)
_SIMILARITY = 0.85  # minimum similarity of a misspelled name; 1 for equal names


def settings() -> dict[str, str]:
    """Returns the environment variables that have an effect, with their values."""
    known = _known()
    return {name: value for name, value in sorted(os.environ.items()) if name in known}


def misspelled() -> dict[str, str]:
    """Maps each variable that has no effect, but resembles a valid name, to the valid name."""
    prefixed = [name for name in os.environ if name.startswith(PREFIXES)]
    known = _known() if prefixed else set[str]()
    unknown = [name for name in sorted(prefixed) if name not in known]
    if not unknown:
        return {}
    import difflib  # takes a millisecond, and is seldom needed

    nearest = {x: difflib.get_close_matches(x, known, 1, _SIMILARITY) for x in unknown}
    return {name: match[0] for name, match in nearest.items() if match}


def threads() -> int | None:
    """Returns the value of JITNEY_NUM_THREADS; None if it is not set.

    Raises:
      ValueError: if it is not a positive integer.
    """
    text = os.environ.get("JITNEY_NUM_THREADS", "")
    if text and not (text.isdigit() and int(text)):
        why = f"expected a positive number of threads, got {text!r}"
        raise ValueError(f"the environment variable JITNEY_NUM_THREADS: {why}")
    return int(text) if text else None


def check() -> None:
    """Warns of each misspelled variable.

    Raises:
      ValueError: if the value of a variable is not valid.
    """
    try:
        threads()
    except ValueError as wrong:
        raise wrong.with_traceback(None) from None  # the inner traceback would not help users
    for name, why in refused.items():
        raise ValueError(f"the environment variable {name}: {why}")
    for name, right in misspelled().items():
        warn(f"the environment variable {name} has no effect; did you mean {right}?")


def _known() -> set[str]:
    names = {*_OTHERS}
    for name in map(str.upper, config.values):
        if name.startswith("JITNEY_"):
            names.add(name)
        else:
            names |= {f"{prefix}{name.removeprefix('JAX_')}" for prefix in PREFIXES}
    return names
