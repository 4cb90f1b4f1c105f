"""`jax.experimental.key_reuse`: detection of PRNG keys that are used twice.

This module has no functions. If the option `jax_debug_key_reuse` or the context manager
`jax.debug_key_reuse` is active, drawing from or splitting a key that was consumed before raises a
`jax.errors.KeyReuseError`, both in jitted functions and in eager mode:

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
