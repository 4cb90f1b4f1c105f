"""Transformations of programs: forward- and reverse-mode differentiation, batching.

They know operations only through their rules, with one exception: `transpose` applies `reshard` to
move a cotangent to the sharding of its value.
"""
