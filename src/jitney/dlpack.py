"""`jax.dlpack`: exchange of arrays with other libraries without copying."""

from jitney.api.dlpack import from_dlpack as from_dlpack, is_supported_dtype as is_supported_dtype
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
