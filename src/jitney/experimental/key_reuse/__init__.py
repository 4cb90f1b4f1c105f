"""`jax.experimental.key_reuse`: finding random keys that are used twice.

It has no functions. The option `jax_debug_key_reuse`, or the context manager `jax.debug_key_reuse`,
makes a `jax.errors.KeyReuseError` of a draw, or a split, whose key was consumed before, within programs
and outside of them:

    >>> with jax.debug_key_reuse(True):
    ...     root = jax.random.key(0)
    ...     value = jax.random.normal(root)
    ...     try:
    ...         jax.random.normal(root)
    ...     except jax.errors.KeyReuseError:
    ...         print("used twice")
    used twice
"""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
