"""Convolutions: the primitive, its dimension numbers, and functions built on it."""
