"""Pytrees: nested containers, their structures and paths, and the registration of node classes."""
