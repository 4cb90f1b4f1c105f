"""`jax.experimental`: features whose interface may change."""

from typing import TYPE_CHECKING

from jitney.core.lazy import listing, refusing
from jitney.api.callbacks import io_callback as io_callback
from jitney.core.hi_types import cur_qdd as cur_qdd
from jitney.primitives.elementwise.edtypes import primal_tangent_dtype as primal_tangent_dtype

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
