"""Descriptions of how arrays are distributed over devices: meshes, specs and shardings."""
