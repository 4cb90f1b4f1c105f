"""Elementwise primitives, families with shared rules, and Taylor series."""
