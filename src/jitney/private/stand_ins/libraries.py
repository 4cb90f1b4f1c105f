"""Versions of `jaxlib`, JAX's compiled part, which jitney does not need."""

from __future__ import annotations

from jitney.version import __version__ as version_str, __version_info__ as version

__all__ = ["ifrt_version", "jaxlib_extension_version", "version", "version_str"]

# The version of the interface between jax and jaxlib in this release.
jaxlib_extension_version = 467
ifrt_version = 55
