"""`jax.memory`: kinds of memory."""

from jitney.core.memory_space import MemorySpace as Space

__all__ = ["Space"]
