"""The implementation of `jax._src`, JAX's private modules, by tables of the locations of names.

`names.txt` lists the locations of public objects in JAX's private modules; `tools/private_names.py`
generates it from an installation of JAX. Names that are not public, but are used by packages, are
listed in `places.py`: most refer to objects of jitney, and the others are defined in `stand_ins`.
`modules.py` creates modules from the tables. None of this is loaded before a program imports from
`jax._src`.
"""
