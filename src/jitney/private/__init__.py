"""What stands behind `jax._src`, JAX's private modules: tables of where their names are in jitney.

Where a public object lives in JAX's private tree can be read off from real JAX: `names.txt` is the
list, which `tools/private_names.py` writes. Names that are not public anywhere, but are read by
packages, have a row in `places.py`: most are something of jitney's, and the others are defined in
`stand_ins`. `modules.py` makes modules of the tables. Nothing here is loaded before a program
imports from `jax._src`.
"""
