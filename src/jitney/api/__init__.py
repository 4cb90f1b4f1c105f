"""The public API: `jit`, `grad`, `vmap`, `device_put` and the rest, a folder for each theme."""
