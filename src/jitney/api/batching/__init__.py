"""`vmap`, and functions with custom batching rules."""
