"""`jit` and what it needs: calls, tracing, stages, repeated calls of library functions."""
