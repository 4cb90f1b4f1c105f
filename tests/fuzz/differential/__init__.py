"""A differential fuzzer: random programs, run by jitney in several ways and by real JAX.

Begin with `program` (what a program is), then `rules` and `generate` (how they are made), `run` and
`compare` (what must agree), `shrink`, and `__main__` (the command; `make fuzz`).
"""
