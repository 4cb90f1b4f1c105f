"""Traces, primitives, and what `bind` does with an operation."""
