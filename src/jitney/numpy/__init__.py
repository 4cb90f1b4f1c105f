"""`jax.numpy`: the NumPy API on jitney arrays."""

import numpy as _np

from jitney.core.types import dtypes as _dtypes
from jitney.core.util.lazy import attach

_lookup, __dir__, __all__ = attach(
    __name__,
    __file__,
    without=() if _dtypes.int1_types else ("int1", "uint1"),
    published_by="jitney.api.jit.repeated",
)

pi, e, inf, nan = _np.pi, _np.e, _np.inf, _np.nan
euler_gamma, newaxis = _np.euler_gamma, None

__array_api_version__ = "2025.12"

_REMOVED = {
    "fix": "jax.numpy.fix does not exist, as JAX 0.10 removed it; use jax.numpy.trunc, which also "
    "rounds towards zero",
}


def __getattr__(name: str) -> object:
    if name in _REMOVED:
        raise AttributeError(_REMOVED[name])
    if name == "__array_namespace_info__":
        from jitney.numpy import namespace_info

        return namespace_info.__array_namespace_info__
    return _lookup(name)
