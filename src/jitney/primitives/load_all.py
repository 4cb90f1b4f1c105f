"""Primitives that are not declared yet: modules of operations are loaded at first access."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from jitney import primitives

# Where primitives are that rules of others ask for by name: all modules together take 40 ms to load.
_HOMES = {
    "all_gather": "parallel.all_gather",
    "all_gather_reduced": "parallel.reduced",
    "psum": "parallel.collectives",
    "random_wrap": "random.bits",
    "reduce_max": "reduction.reduce",
    "reduce_or": "reduction.reduce",
    "reduce_sum": "reduction.reduce",
    "unreduced_psum": "parallel.reduced",
    "unreduced_reduce_scatter": "parallel.reduced",
}


def load_primitive(name: str) -> None:
    """Imports the module of the primitive called `name`, so that `core.primitive.registry` has it."""
    home = _HOMES.get(name)
    if home is None:
        load()
    else:
        importlib.import_module(f"{primitives.__name__}.{home}")


@functools.cache
def load() -> None:
    """Imports every module of operations, so that `core.primitive.registry` is whole."""
    for module in pkgutil.walk_packages(primitives.__path__, f"{primitives.__name__}."):
        importlib.import_module(module.name)
