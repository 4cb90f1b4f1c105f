"""`jax.experimental.array_serialization`: saving arrays to files, and loading them, by TensorStore.

`serialization` contains the checkpoint managers that libraries use, `tensorstore_impl` the
functions for single arrays, and `specs` the descriptions of where and in which format an array is
stored. TensorStore is not needed to import this package.
"""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
