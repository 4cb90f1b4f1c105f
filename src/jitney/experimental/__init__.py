"""`jax.experimental`: what JAX keeps there."""

from jitney.api.callbacks import io_callback as io_callback
from jitney.core.hi_types import cur_qdd as cur_qdd
from jitney.primitives.elementwise.edtypes import primal_tangent_dtype as primal_tangent_dtype
