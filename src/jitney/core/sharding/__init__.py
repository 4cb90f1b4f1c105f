"""Descriptions of how arrays are distributed over devices: meshes, specs, shardings, axis types."""
