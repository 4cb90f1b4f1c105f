"""Fusion: decides which operations share a kernel."""
