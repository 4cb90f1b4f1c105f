"""Operations that JAX implements as kernels."""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
