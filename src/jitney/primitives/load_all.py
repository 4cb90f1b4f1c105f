"""All primitives, declared: modules of operations are otherwise loaded when they are asked for."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from jitney import primitives


@functools.cache
def load() -> None:
    """Imports every module of operations, so that `core.primitive.registry` is whole."""
    for module in pkgutil.walk_packages(primitives.__path__, f"{primitives.__name__}."):
        importlib.import_module(module.name)
