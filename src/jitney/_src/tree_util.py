"""`jax._src.tree_util`: flax asks which types are pytrees, orbax for the children of one node."""

from jitney.core.pytree.registry import (
    KINDS as _registry,
    flatten_one_level as flatten_one_level,
)

__all__ = ["_registry", "flatten_one_level"]
