"""`jax.experimental.pallas.triton`: GPU kernels, which are not supported.

Libraries import this module along with code that they run on CPUs, so it exists, but is empty.
"""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
