"""Operations whose kernels in JAX are for TPUs; here they are compiled like everything else."""

from jitney.core.lazy import listing

__dir__ = listing(__name__)
