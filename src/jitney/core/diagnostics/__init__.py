"""Errors of the public API: their messages, which show the user's call, and their tracebacks."""
