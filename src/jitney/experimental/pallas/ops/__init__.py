"""Operations that JAX implements as kernels."""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
