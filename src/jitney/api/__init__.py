"""What users call: `jit`, `make_jaxpr`, `eval_shape`, `device_put` and the rest, one theme a file."""
