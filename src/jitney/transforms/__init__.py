"""Transformations of programs: forward- and reverse-mode differentiation, batching.

They use the rules of operations, and none by name, with one exception: `transpose` moves a
cotangent to the sharding of its value by `reshard`.
"""
