"""`jax._src.api_util`; public as `jax.api_util`."""

from jitney.api_util import (
    argnums_partial as argnums_partial,
    debug_info as debug_info,
    flatten_axes as flatten_axes,
    flatten_fun as flatten_fun,
    flatten_fun_nokwargs as flatten_fun_nokwargs,
)
