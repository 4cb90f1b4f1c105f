"""Public names that JAX 0.12.0.1 has and 0.10.2 lacks."""

from __future__ import annotations

import functools
from pathlib import Path

_NAMES = Path(__file__).parents[1] / "parity/data/names_of_jax_0.12.txt"


@functools.cache
def _table() -> dict[str, set[str]]:
    rows = [line.split(": ") for line in _NAMES.read_text().splitlines()]
    return {module: {*names.split()} for module, names in rows}


def added(module: str) -> set[str]:
    """The names that public module `jax...` has got since JAX 0.10.2."""
    return _table().get(module, set())
