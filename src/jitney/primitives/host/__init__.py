"""Callbacks: calls of Python functions from programs."""
