"""`jax.lib`: the version of jaxlib; its former contents are in `jax.extend` and `jax.dlpack`."""

from jitney.core.util.lazy import listing
from jitney.version import __version__ as __version__

__all__: list[str] = []

__dir__ = listing(__name__)
