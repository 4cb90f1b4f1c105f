"""`jit`: calls, tracing, stages of compilation, and repeated calls of library functions."""
