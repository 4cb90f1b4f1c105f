"""Convolutions: the primitive, its dimension numbers, and functions based on it."""
