"""Operations that JAX implements as TPU kernels; jitney compiles them like any other function."""

from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
