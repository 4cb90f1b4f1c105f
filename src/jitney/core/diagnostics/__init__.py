"""Errors of the public API, completed with the call and its operands, and their tracebacks."""
