"""Types for annotations; `jax.typing`."""

from jitney.core.typing import ArrayLike, DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
