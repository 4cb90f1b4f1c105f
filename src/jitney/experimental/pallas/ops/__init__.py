"""Operations that JAX provides as kernels."""
