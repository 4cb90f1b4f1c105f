"""`jax.interpreters`: where users' primitives get their rules; module by module as in JAX."""
