"""Differentiation, functions with custom derivatives, and rematerialization."""
