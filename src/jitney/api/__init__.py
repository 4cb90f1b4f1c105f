"""The public API: `jit`, `grad`, `vmap`, `device_put` and the rest, one topic per module."""
