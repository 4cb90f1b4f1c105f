"""Operations whose kernels in JAX are for TPUs; here they are compiled like everything else."""
