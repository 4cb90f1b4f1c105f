"""`jax.experimental.pallas`: of it there is the attention that libraries import, in `ops.tpu`.

Kernels of one's own (`pallas_call`) are not here.
"""
