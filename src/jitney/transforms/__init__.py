"""Transformations of programs: forward and reverse derivatives, batching.

They know operations by their rules, but for one by name: `transpose` moves a cotangent to where its
value lies, by `reshard`.
"""
