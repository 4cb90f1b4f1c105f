"""Python callbacks, the debugger, and memory profiles."""
