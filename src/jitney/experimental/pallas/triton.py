"""`jax.experimental.pallas.triton`: the language of GPU kernels. There are no GPUs here.

Libraries load the module beside the code that they run on CPUs, so it is there, and empty.
"""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
