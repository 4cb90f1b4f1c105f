"""Passes on the tensor IR; each returns a module that computes the same bits."""
