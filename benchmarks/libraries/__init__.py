"""Whole programs with libraries for JAX, timed on this package and on real jax."""
