"""`jax.extend.linear_util`: functions wrapped in a stack of transformations."""

from jitney.core.recording.linear_util import (
    StoreException as StoreException,
    WrappedFun as WrappedFun,
    cache as cache,
    merge_linear_aux as merge_linear_aux,
    transformation as transformation,
    transformation2 as transformation2,
    transformation_with_aux as transformation_with_aux,
    transformation_with_aux2 as transformation_with_aux2,
    wrap_init as wrap_init,
)
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
