"""`jax.experimental.array_serialization`: arrays written to files by tensorstore, and read from them.

`serialization` has the managers that libraries use, `tensorstore_impl` what they are made of, and
`specs` says where and how an array is stored. Tensorstore is not needed to import this package.
"""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
