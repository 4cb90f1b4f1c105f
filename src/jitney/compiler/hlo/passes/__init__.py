"""Passes on the tensor IR. Each takes a module and returns an equivalent one."""
