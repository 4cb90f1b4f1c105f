"""The implementation of `jax._src`, JAX's private modules: tables of the locations of their names.

`names.txt` lists where public objects are in JAX's private modules; `tools/private_names.py` reads
it from an installation of JAX. Names that are not public, but are used by packages, have a row in
`places.py`: most refer to objects of jitney, and the others are defined in `stand_ins`.
`modules.py` creates modules from the tables. Nothing here is loaded before a program imports from
`jax._src`.
"""
