"""`jax.tree`: short names for pytree functions. See `jitney.core.pytree.pytrees`."""

import dataclasses
from typing import Any

from jitney.core.pytree.pytrees import (
    tree_all as all,
    tree_broadcast as broadcast,
    tree_flatten as flatten,
    tree_flatten_with_path as flatten_with_path,
    tree_leaves as leaves,
    tree_leaves_with_path as leaves_with_path,
    tree_map as map,
    tree_map_with_path as map_with_path,
    tree_reduce as reduce,
    tree_reduce_associative as reduce_associative,
    tree_structure as structure,
    tree_transpose as transpose,
    tree_unflatten as unflatten,
)
from jitney.core.util.lazy import listing

__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map",
    "map_with_path", "reduce", "reduce_associative", "static", "structure", "transpose", "unflatten",
]  # fmt: skip

__dir__ = listing(__name__)


def static(**kwargs: Any) -> Any:
    """Declares a dataclass field that `register_dataclass` treats as static data."""
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)
