"""`jax.experimental.pallas`: of it there is the attention that libraries import, in `ops.tpu`.

Kernels of one's own (`pallas_call`) are not here.
"""

from typing import TYPE_CHECKING

from jitney.core.lazy import listing, refusing

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
