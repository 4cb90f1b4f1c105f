"""Calls of programs: `jit`, custom derivatives, rematerialization."""
