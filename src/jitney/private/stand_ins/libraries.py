"""`jaxlib`, JAX's compiled part, which jitney does without: its versions."""

from __future__ import annotations

from jitney.version import __version__ as version_str, __version_info__ as version

__all__ = ["ifrt_version", "jaxlib_extension_version", "version", "version_str"]

# Numbers of the interface between jax and jaxlib in this release.
jaxlib_extension_version = 467
ifrt_version = 55
