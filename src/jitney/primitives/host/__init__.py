"""Calls of Python functions from programs."""
