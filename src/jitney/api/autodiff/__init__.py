"""Derivatives, functions with derivatives of their own, and rematerialization."""
