"""Callbacks: Python functions that are called from programs."""
