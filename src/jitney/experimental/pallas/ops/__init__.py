"""Operations that JAX provides as kernels."""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
