"""Lazy loading of primitives: a module is imported when one of its primitives is first needed."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from jitney import primitives

# Modules of the primitives that rules look up by name; importing all modules takes 40 ms.
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
    """Imports the module of the primitive `name`, which adds it to `primitive.registry`."""
    home = _HOMES.get(name)
    if home is None:
        load()
    else:
        importlib.import_module(f"{primitives.__name__}.{home}")


@functools.cache
def load() -> None:
    """Imports all modules of primitives, so that `primitive.registry` is complete."""
    for module in pkgutil.walk_packages(primitives.__path__, f"{primitives.__name__}."):
        importlib.import_module(module.name)
