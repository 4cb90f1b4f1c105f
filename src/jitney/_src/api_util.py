"""`jax._src.api_util`; public as `jax.api_util`. e3nn finds out the names of numbered arguments."""

from jitney.api.signature import infer_argnums_and_argnames as infer_argnums_and_argnames
from jitney.api_util import (
    argnums_partial as argnums_partial,
    debug_info as debug_info,
    flatten_axes as flatten_axes,
    flatten_fun as flatten_fun,
    flatten_fun_nokwargs as flatten_fun_nokwargs,
)
