"""The persistent compilation cache, which processes can share; see `docs/caches.md`."""

from __future__ import annotations

import os

from jitney.core.settings import config
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Sets the folder of the persistent compilation cache to `path`."""
    config.compilation_cache_dir.set_global(os.fspath(path))


def reset_cache() -> None:
    """Does nothing: the folder is opened for each access, so that there is no state to reset."""


set_cache_dir.__module__ = reset_cache.__module__ = (
    "jax.experimental.compilation_cache.compilation_cache"
)
