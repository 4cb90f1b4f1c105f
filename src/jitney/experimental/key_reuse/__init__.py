"""`jax.experimental.key_reuse`: detection of PRNG keys that are used twice.

This module has no functions. If the option `jax_debug_key_reuse` is set, or within the context
manager `jax.debug_key_reuse`, drawing from a key or splitting it raises a
`jax.errors.KeyReuseError` if the key was consumed before. This holds for jitted functions as well
as in eager mode:

    >>> with jax.debug_key_reuse(True):
    ...     root = jax.random.key(0)
    ...     value = jax.random.normal(root)
    ...     try:
    ...         jax.random.normal(root)
    ...     except jax.errors.KeyReuseError:
    ...         print("used twice")
    used twice
"""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
