"""Calls of programs: `jit`, user-defined derivatives, rematerialization."""
