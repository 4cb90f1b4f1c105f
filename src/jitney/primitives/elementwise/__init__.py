"""Elementwise primitives, the families that they come in, and their Taylor series."""
