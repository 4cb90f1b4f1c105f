"""The distributions `jax` and `jaxlib` for `importlib.metadata`, if `import jax` imports jitney.

Packages look up versions there, before `jax.__version__` or instead of it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from jitney.version import __version__

NAMES = ("jax", "jaxlib")


class _Distribution(importlib.metadata.Distribution):
    """The metadata of a distribution: its name, version and only module."""

    def __init__(self, name: str) -> None:
        self._files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {__version__}\n",
            "top_level.txt": f"{name}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """Returns a file of the metadata; None if it does not exist."""
        return self._files.get(filename)

    def locate_file(self, path: object) -> Path:
        """Returns the path of a file of the distribution, which is relative to jitney's folder."""
        return Path(__file__).parent.parent / str(path)


def find(context: importlib.metadata.DistributionFinder.Context) -> Iterator[_Distribution]:
    """Yields the distributions that a context requests: one by name, or both."""
    wanted = context.name
    return (_Distribution(name) for name in NAMES if wanted is None or wanted.lower() == name)
