"""`jax.experimental.array_serialization`: saves arrays to files and loads them, with TensorStore.

`serialization` contains the checkpoint managers that libraries use, `tensorstore_impl` contains the
functions for single arrays, and `specs` describes where, and in which format, an array is stored.
TensorStore is not required to import this package.
"""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
