"""`jax.experimental.pallas.triton`: GPU kernels, which are not supported.

This module is empty. It exists because libraries import it together with code that runs on CPUs.
"""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
