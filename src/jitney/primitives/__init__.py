"""The primitives: one family a file, each primitive with all its rules, and the `jax.lax` functions."""
