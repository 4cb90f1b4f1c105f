"""Symbolic sizes of axes: polynomials of variables, and constraints on these."""
