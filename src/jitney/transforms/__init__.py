"""Transformations of programs: forward and reverse derivatives, batching.

They know no operation by name.
"""
