"""`jax.experimental.pallas`: the attention kernels that libraries import, in `ops.tpu`.

User-defined kernels (`pallas_call`) are not supported.
"""

from typing import TYPE_CHECKING

from jitney.core.util.lazy import listing, refusing

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
