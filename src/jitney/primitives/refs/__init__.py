"""Mutable array references."""
