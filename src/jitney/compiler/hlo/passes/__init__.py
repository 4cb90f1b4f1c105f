"""Passes on the tensor IR; each takes a module and returns one that computes the same bits."""
