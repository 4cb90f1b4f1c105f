"""`jax._src.config`: the options as objects, named without "jax_"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.settings import config as options

if TYPE_CHECKING:
    from jitney.core.settings.options import State

config = options.config
update = config.update
read = config.read
trace_context = options.trace_epoch


def __getattr__(name: str) -> State:  # called by Python
    """Returns the option: `name.value` is its value, and calling it returns a context manager."""
    for full in (f"jax_{name.removeprefix('jax_')}", f"jax_{name.removeprefix('_')}"):
        try:
            return options.option(full)
        except AttributeError:
            continue
    raise AttributeError(f"unknown option jax_{name}", name=name)
