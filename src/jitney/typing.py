"""`jax.typing`: types for annotations."""

from jitney.core.typing import ArrayLike, DTypeLike
from jitney.core.util.lazy import listing

__all__ = ["ArrayLike", "DTypeLike"]

__dir__ = listing(__name__)
