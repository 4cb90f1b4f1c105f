"""Convolutions: the primitive, dimension numbers, and the functions of its family."""
