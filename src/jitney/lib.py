"""`jax.lib`: the version of jaxlib; the rest is in `jax.extend` and `jax.dlpack` now."""

from jitney.core.lazy import listing
from jitney.version import __version__ as __version__

__all__: list[str] = []

__dir__ = listing(__name__)
