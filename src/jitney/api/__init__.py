"""The public API (`jit`, `grad`, `vmap`, `device_put`, ...), in one folder per topic."""
