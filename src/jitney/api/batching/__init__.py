"""`vmap`, and functions with batching rules of their own."""
