"""`jax.typing`: types for annotations."""

from jitney.core.lazy import listing
from jitney.core.typing import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]

__dir__ = listing(__name__)
