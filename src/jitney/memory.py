"""`jax.memory`: kinds of memory."""

from jitney.core.types.memory_space import MemorySpace as Space

__all__ = ["Space"]
