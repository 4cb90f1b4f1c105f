"""Reductions over axes and windows, cumulative reductions, and sorting."""
