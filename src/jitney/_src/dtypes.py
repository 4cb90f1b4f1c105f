"""`jax._src.dtypes`: flax derives an extended dtype, equinox catches promotions that fail."""

from jitney.core.dtypes import TypePromotionError as TypePromotionError, finfo as finfo
from jitney.core.extended_dtypes import (
    DType as DType,
    ExtendedDType as ExtendedDType,
    extended as extended,
)
